package org.apache.zookeeper.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;

/** Gives a {@link ZooKeeperServer}, which is Warren, the address at which it serves clients. */
public class NIOServerCnxnFactory extends ServerCnxnFactory {
    private InetSocketAddress address;
    private int maxClientCnxns;
    private int backlog;
    private ZooKeeperServer server;

    public NIOServerCnxnFactory() { }

    /** A factory whose server is running. */
    NIOServerCnxnFactory(ZooKeeperServer server) {
        this.server = server;
        zkServer = server;
        address = new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getClientPort());
    }

    @Override
    public void configure(InetSocketAddress address, int maxClientCnxns, int backlog, boolean secure) {
        if (secure) {
            throw new UnsupportedOperationException("a port with TLS is a setting of ZooKeeperServerEmbedded");
        }
        this.address = address;
        this.maxClientCnxns = maxClientCnxns;
        this.backlog = backlog;
    }

    @Override
    public void startup(ZooKeeperServer server, boolean start) throws IOException {
        this.server = server;
        server.serve(address, maxClientCnxns);
    }

    @Override
    public void start() { }

    @Override
    public void shutdown() {
        if (server != null) {
            server.shutdown();
        }
    }

    @Override
    public void join() { }

    @Override
    public int getLocalPort() {
        return server == null ? address.getPort() : server.getClientPort();
    }

    @Override
    public InetSocketAddress getLocalAddress() {
        return new InetSocketAddress(address.getAddress(), getLocalPort());
    }

    @Override
    public int getMaxClientCnxnsPerHost() {
        return maxClientCnxns;
    }

    @Override
    public void setMaxClientCnxnsPerHost(int max) {
        maxClientCnxns = max;
    }

    @Override
    public int getSocketListenBacklog() {
        return backlog;
    }

    @Override
    public Iterable<ServerCnxn> getConnections() {
        return List.of();
    }

    @Override
    public Iterable<Map<String, Object>> getAllConnectionInfo(boolean brief) {
        return List.of();
    }

    @Override
    public void reconfigure(InetSocketAddress to) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean closeSession(long session, ServerCnxn.DisconnectReason reason) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void closeAll(ServerCnxn.DisconnectReason reason) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void resetAllConnectionStats() { }
}
