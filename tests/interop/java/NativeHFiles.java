import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.io.ByteBufferBackedInputStream;
import org.apache.hudi.io.ByteArraySeekableDataInputStream;
import org.apache.hudi.io.hfile.HFileReader;
import org.apache.hudi.io.hfile.HFileReaderImpl;
import org.apache.hudi.io.hfile.KeyValue;
import org.apache.hudi.io.hfile.UTF8StringKey;

/**
 * What Hudi's own reader finds in the HFiles that standard input names, a line each: how many entries
 * it says there are, their digest, how many keys it finds when it seeks them, how many keys it finds
 * that are not there, and info INFO and meta block META as hexadecimal digits.
 */
public class NativeHFiles {
  public static void main(String[] names) throws Exception {
    for (String path : HFileLines.paths()) {
      byte[] content = Files.readAllBytes(Paths.get(path));
      HFileLines found = new HFileLines();
      try (HFileReader reader = open(content)) {
        reader.initializeMetadata();
        for (boolean more = reader.seekTo(); more; more = reader.next()) {
          KeyValue each = reader.getKeyValue().get();
          found.add(key(each), value(each));
        }
      }
      try (HFileReader reader = open(content)) {
        if (reader.seekTo()) {
          for (byte[] key : found.keys()) {
            boolean isThere = reader.seekTo(new UTF8StringKey(key)) == HFileReader.SEEK_TO_FOUND;
            found.sought(isThere && found.isLike(key, value(reader.getKeyValue().get())));
            found.soughtAbsent(
                reader.seekTo(new UTF8StringKey(HFileLines.after(key))) == HFileReader.SEEK_TO_FOUND);
          }
        }
        Option<byte[]> info = reader.getMetaInfo(new UTF8StringKey(names[0]));
        Option<ByteBuffer> meta = reader.getMetaBlock(names[1]);
        System.out.println(
            found.line(
                reader.getNumKeyValueEntries(),
                info.isPresent() ? info.get() : new byte[0],
                meta.isPresent() ? HFileLines.bytes(meta.get()) : new byte[0]));
      }
    }
  }

  private static HFileReader open(byte[] content) {
    ByteBufferBackedInputStream stream = new ByteBufferBackedInputStream(content);
    return new HFileReaderImpl(new ByteArraySeekableDataInputStream(stream), content.length);
  }

  private static byte[] key(KeyValue entry) {
    int at = entry.getKeyContentOffset();
    return HFileLines.part(entry.getBytes(), at, entry.getKeyContentLength());
  }

  private static byte[] value(KeyValue entry) {
    return HFileLines.part(entry.getBytes(), entry.getValueOffset(), entry.getValueLength());
  }
}
