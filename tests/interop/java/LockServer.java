import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hudi.common.config.LockConfiguration;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.lock.LockProvider;
import org.apache.hudi.storage.StorageConfiguration;
import org.apache.hudi.storage.hadoop.HadoopStorageConfiguration;

/**
 * Lock providers of real Hudi, told what to do by lines of standard input whose words are separated by
 * tabs; each is answered by a line.
 *
 * <p>make NAME CLASS key=value ..., lock NAME MILLISECONDS, unlock NAME, close NAME, owner NAME.
 */
public class LockServer {
  private final Map<String, LockProvider<?>> providers = new HashMap<>();

  public static void main(String[] none) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    LockServer server = new LockServer();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String answer;
      // Hudi 1.2 interrupts the thread that holds a lease when it finds that it has lost it.
      Thread.interrupted();
      try {
        answer = "done\t" + server.answer(line.split("\t"));
      } catch (Throwable error) {
        error.printStackTrace();
        answer = "failed\t" + error;
      }
      answers.println(answer.replace('\n', ' '));
      answers.flush();
    }
    System.exit(0);
  }

  private Object answer(String[] words) throws Exception {
    if (words[0].equals("make")) {
      providers.put(words[1], make(words));
      return "made";
    }
    LockProvider<?> provider = providers.get(words[1]);
    switch (words[0]) {
      case "lock":
        return provider.tryLock(Long.parseLong(words[2]), TimeUnit.MILLISECONDS);
      case "unlock":
        provider.unlock();
        return "unlocked";
      case "close":
        provider.close();
        return "closed";
      case "owner":
        return provider.getCurrentOwnerLockInfo();
      default:
        throw new IllegalArgumentException(words[0]);
    }
  }

  private static LockProvider<?> make(String[] words) throws Exception {
    TypedProperties options = new TypedProperties();
    for (int at = 3; at < words.length; at++) {
      String[] pair = words[at].split("=", 2);
      options.put(pair[0], pair[1]);
    }
    StorageConfiguration<?> storage = new HadoopStorageConfiguration(new Configuration());
    return (LockProvider<?>)
        Class.forName("org.apache.hudi.client.transaction.lock." + words[2])
            .getConstructor(LockConfiguration.class, StorageConfiguration.class)
            .newInstance(new LockConfiguration(options), storage);
  }
}
