package example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.github.seed94657493.warren.test.WarrenExtension;
import io.github.seed94657493.warren.test.WarrenTestServer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(WarrenExtension.class)
class SettingsTest {
    @Test
    void settingsSurviveACrash(WarrenTestServer server) throws Exception {
        try (ZooKeeper zk = new ZooKeeper(server.connectString(), 10_000, event -> { })) {
            zk.create("/settings", "blue".getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        }
        server.kill();
        server.restart();
        try (ZooKeeper zk = new ZooKeeper(server.connectString(), 10_000, event -> { })) {
            assertArrayEquals("blue".getBytes(), zk.getData("/settings", false, null));
        }
    }
}
