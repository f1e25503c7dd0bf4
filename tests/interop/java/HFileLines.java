import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/** The entries that a reader of HFiles finds in one, and the line that it tells of them. */
public class HFileLines {
  private final MessageDigest digest;
  private final List<byte[]> keys = new ArrayList<>();
  private final List<byte[]> values = new ArrayList<>();
  private int found;
  private int foundAbsent;

  public HFileLines() throws Exception {
    digest = MessageDigest.getInstance("SHA-256");
  }

  public static List<String> paths() {
    return new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
        .lines()
        .collect(Collectors.toList());
  }

  public void add(byte[] key, byte[] value) {
    for (byte[] each : Arrays.asList(key, value)) {
      digest.update(ByteBuffer.allocate(4).putInt(each.length).array());
      digest.update(each);
    }
    keys.add(key);
    values.add(value);
  }

  public List<byte[]> keys() {
    return keys;
  }

  public List<byte[]> keysBackwards() {
    List<byte[]> backwards = new ArrayList<>(keys);
    Collections.reverse(backwards);
    return backwards;
  }

  public boolean isLike(byte[] key, byte[] value) {
    int at = Collections.binarySearch(keys, key, Arrays::compareUnsigned);
    return at >= 0 && Arrays.equals(values.get(at), value);
  }

  public void sought(boolean isFound) {
    found += isFound ? 1 : 0;
  }

  public void soughtAbsent(boolean isFound) {
    foundAbsent += isFound ? 1 : 0;
  }

  public String line(long said, byte[] info, byte[] meta) {
    return String.join(
        "\t",
        Long.toString(said),
        hexadecimal(digest.digest()),
        Integer.toString(found),
        Integer.toString(foundAbsent),
        hexadecimal(info),
        hexadecimal(meta));
  }

  /** The next key of all that there could be. */
  public static byte[] after(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  public static byte[] part(byte[] data, int at, int length) {
    return Arrays.copyOfRange(data, at, at + length);
  }

  public static byte[] bytes(ByteBuffer buffer) {
    byte[] found = new byte[buffer.remaining()];
    buffer.duplicate().get(found);
    return found;
  }

  private static String hexadecimal(byte[] data) {
    StringBuilder text = new StringBuilder();
    for (byte each : data) {
      text.append(String.format("%02x", each));
    }
    return text.toString();
  }
}
