import java.io.File;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * An HDFS of one name node and one data node in this process, for as long as standard input is open.
 *
 * Arguments: a folder for its files; settings of Hadoop as key=value. One line tells its URI.
 */
public class MiniDfs {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(arguments[0]).getAbsolutePath());
    settings.setBoolean("dfs.permissions.enabled", false);
    Stream.of(arguments).skip(1).map(each -> each.split("=", 2)).forEach(each -> settings.set(each[0], each[1]));
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).numDataNodes(1).format(true).build();
    cluster.waitActive();
    System.out.println("READY " + cluster.getURI());
    System.out.flush();
    while (System.in.read() >= 0) {}
    // Its own shutdown takes seconds, and nobody wants the files.
    Runtime.getRuntime().halt(0);
  }
}
