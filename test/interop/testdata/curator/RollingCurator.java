import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.data.Stat;

/** Rolling with Curator. No retry hides that a request was lost. */
public class RollingCurator implements Rolling.Client {
    private final CuratorFramework curator;
    private final String path;

    public static void main(String[] args) throws Exception {
        Rolling.run(args, (servers, number, session) -> new RollingCurator(servers, "/curator-" + number, session));
    }

    RollingCurator(String servers, String path, Rolling.Session session) throws Exception {
        this.path = path;
        curator = CuratorFrameworkFactory.builder().connectString(servers).sessionTimeoutMs(30000).connectionTimeoutMs(15000)
            .retryPolicy(new RetryNTimes(0, 0)).zookeeperFactory(Rolling.Visible::new).build();
        curator.getConnectionStateListenable().addListener((c, state) -> {
            if (state == ConnectionState.SUSPENDED) {
                session.ended();
            }
        });
        curator.start();
        if (!curator.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("not connected");
        }
        curator.create().withMode(CreateMode.EPHEMERAL).forPath(path, "0".getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void set(byte[] data, Rolling.Answer answer) throws Exception {
        curator.setData().inBackground((c, event) -> answer.take(event.getResultCode(), event.getStat())).forPath(path, data);
    }

    @Override
    public byte[] get(Stat stat) throws Exception {
        return curator.getData().storingStatIn(stat).forPath(path);
    }

    @Override
    public int port() throws Exception {
        return ((Rolling.Visible) curator.getZookeeperClient().getZooKeeper()).port();
    }

    @Override
    public void close() {
        curator.close();
    }
}
