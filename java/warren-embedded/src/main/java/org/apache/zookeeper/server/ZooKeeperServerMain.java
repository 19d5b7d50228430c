package org.apache.zookeeper.server;

/**
 * The parts of a server that {@link org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded} has started. Tests
 * find them by reflection, so the fields have the names that they have in ZooKeeper's class.
 */
public class ZooKeeperServerMain {
    private final ServerCnxnFactory cnxnFactory;
    private final ContainerManager containerManager = new ContainerManager();

    public ZooKeeperServerMain(ZooKeeperServer server) {
        cnxnFactory = new NIOServerCnxnFactory(server);
    }
}
