import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.org.apache.hadoop.hbase.Cell;
import org.apache.hudi.org.apache.hadoop.hbase.CellUtil;
import org.apache.hudi.org.apache.hadoop.hbase.HConstants;
import org.apache.hudi.org.apache.hadoop.hbase.KeyValue;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.HFileBlock;
import org.apache.hudi.org.apache.hadoop.hbase.io.hfile.HFileScanner;

/** What the reader of HBase that Hudi 0.15 carries finds, told as NativeHFiles tells it. */
public class HBaseHFiles {
  public static void main(String[] names) throws Exception {
    Configuration conf = new Configuration();
    FileSystem files = FileSystem.getLocal(conf).getRaw();
    for (String path : HFileLines.paths()) {
      HFileLines found = new HFileLines();
      try (HFile.Reader reader =
          HFile.createReader(files, new Path(path), new CacheConfig(conf), true, conf)) {
        HFileScanner scanner = reader.getScanner(false, true);
        for (boolean more = scanner.seekTo(); more; more = scanner.next()) {
          found.add(CellUtil.cloneRow(scanner.getCell()), value(scanner));
        }
        // The last first, as this reader can seek back.
        HFileScanner seeker = reader.getScanner(false, true);
        for (byte[] key : found.keysBackwards()) {
          found.soughtAbsent(seeker.seekTo(cell(HFileLines.after(key))) == 0);
          found.sought(seeker.seekTo(cell(key)) == 0 && found.isLike(key, value(seeker)));
        }
        byte[] info = reader.getHFileInfo().get(names[0].getBytes("UTF-8"));
        HFileBlock meta = reader.getMetaBlock(names[1], false);
        System.out.println(
            found.line(
                reader.getEntries(),
                info == null ? new byte[0] : info,
                meta == null
                    ? new byte[0]
                    : HFileLines.bytes(meta.getBufferWithoutHeader().asSubByteBuffer(
                        meta.getBufferWithoutHeader().limit()))));
      }
    }
  }

  private static byte[] value(HFileScanner scanner) {
    return HFileLines.bytes(scanner.getValue());
  }

  private static Cell cell(byte[] key) {
    return new KeyValue(key, null, null, HConstants.LATEST_TIMESTAMP, KeyValue.Type.Put, null);
  }
}
