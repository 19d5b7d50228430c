package org.apache.zookeeper.server;

import io.github.seed94657493.warren.test.WarrenProcess;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/**
 * Runs Warren, as a process of its own, where a program starts ZooKeeper by a server and a
 * {@link NIOServerCnxnFactory}. It has those methods of ZooKeeper's class of this name that such programs call, and
 * must be before that one in the class path.
 */
public class ZooKeeperServer {
    public static final int DEFAULT_TICK_TIME = 3000;

    private final File snapshots;
    private final File log;
    private int tickTime;
    private int minSessionTimeout = -1;
    private int maxSessionTimeout = -1;
    private WarrenProcess process;
    private int port;
    private WarrenOperator operator;

    /** A server that is running. */
    public ZooKeeperServer(WarrenProcess process, int port, WarrenOperator operator) {
        this(null, null, DEFAULT_TICK_TIME);
        this.process = process;
        this.port = port;
        this.operator = operator;
    }

    public ZooKeeperServer(File snapshots, File log, int tickTime) {
        this.snapshots = snapshots;
        this.log = log;
        this.tickTime = tickTime;
    }

    /** Starts Warren, and returns when it serves clients. */
    synchronized void serve(InetSocketAddress address, int maxClientCnxns) throws IOException {
        Properties configured = new Properties();
        configured.setProperty("tickTime", String.valueOf(tickTime));
        configured.setProperty("dataLogDir", log.getPath());
        configured.setProperty("maxClientCnxns", String.valueOf(maxClientCnxns));
        if (minSessionTimeout > 0) {
            configured.setProperty("minSessionTimeout", String.valueOf(minSessionTimeout));
        }
        if (maxSessionTimeout > 0) {
            configured.setProperty("maxSessionTimeout", String.valueOf(maxSessionTimeout));
        }
        String host = address.getAddress().isAnyLocalAddress() ? "0.0.0.0" : address.getAddress().getHostAddress();
        List<String> arguments = new ArrayList<>(List.of("--data-dir", snapshots.getPath(), "--client-address", host,
            "--client-port", String.valueOf(port > 0 ? port : address.getPort())));
        Properties all = WarrenSettings.of(configured);
        for (String name : all.stringPropertyNames()) {
            arguments.add("-D");
            arguments.add(name + "=" + all.getProperty(name));
        }
        process = WarrenProcess.start(new File(snapshots, "warren.log").toPath(), arguments);
        port = process.awaitPort();
    }

    public synchronized int getClientPort() {
        return port;
    }

    public synchronized boolean isRunning() {
        return process != null && process.isAlive();
    }

    public int getTickTime() {
        return tickTime;
    }

    public void setTickTime(int tickTime) {
        this.tickTime = tickTime;
    }

    public void setMinSessionTimeout(int timeout) {
        minSessionTimeout = timeout;
    }

    public void setMaxSessionTimeout(int timeout) {
        maxSessionTimeout = timeout;
    }

    /** Returns null: programs wait for the end of ZooKeeper's session tracker, and there is none. */
    public SessionTracker getSessionTracker() {
        return null;
    }

    /** Returns a tree that is empty and needs not be closed: the znodes are in another process. */
    public ZKDatabase getZKDatabase() {
        return new ZKDatabase(null) {
            @Override
            public void close() { }
        };
    }

    /** Ends a session, as if it had expired. */
    public void expire(long session) {
        if (operator == null) {
            throw new UnsupportedOperationException("only a server of ZooKeeperServerEmbedded ends sessions");
        }
        operator.endSession(session);
    }

    /** Stops the server. Its data stays. */
    public synchronized void shutdown() {
        if (process != null) {
            process.end(false);
            process = null;
        }
    }

    public void shutdown(boolean fullyShutDown) {
        shutdown();
    }
}
