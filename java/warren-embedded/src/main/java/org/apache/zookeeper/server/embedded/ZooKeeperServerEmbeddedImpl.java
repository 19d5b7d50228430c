package org.apache.zookeeper.server.embedded;

import io.github.seed94657493.warren.test.WarrenProcess;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.apache.zookeeper.server.WarrenOperator;
import org.apache.zookeeper.server.WarrenSettings;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.ZooKeeperServerMain;

/**
 * Runs Warren, as a process of its own, where a program starts ZooKeeper by {@link ZooKeeperServerEmbedded}: that is
 * what ZooKeeper's class of this name does, before which this one must be in the class path.
 */
class ZooKeeperServerEmbeddedImpl implements ZooKeeperServerEmbedded {
    private final Properties settings;
    private final Path directory;
    private WarrenProcess process;
    private int port;
    private ZooKeeperServerMain mainsingle; // tests look for it, under ZooKeeper's name

    ZooKeeperServerEmbeddedImpl(Properties settings, Path directory, ExitHandler handler) {
        this.settings = WarrenSettings.of(settings);
        this.settings.putIfAbsent("dataDir", directory.resolve("data").toString());
        this.directory = directory;
    }

    @Override
    public void start() throws Exception {
        start(0);
    }

    /** Starts the server. One that is alone serves clients when this returns; a member waits for its ensemble. */
    @Override
    public synchronized void start(long timeout) throws Exception {
        WarrenOperator operator = new WarrenOperator(settings, directory);
        Path config = directory.resolve("warren.cfg");
        try (OutputStream out = Files.newOutputStream(config)) {
            settings.store(out, null);
        }
        process = WarrenProcess.start(directory.resolve("warren.log"), List.of(config.toString()));
        if (settings.stringPropertyNames().stream().noneMatch(key -> key.startsWith("server."))) {
            port = process.awaitPort();
            mainsingle = new ZooKeeperServerMain(new ZooKeeperServer(process, port, operator));
        }
    }

    @Override
    public synchronized String getConnectionString() throws IOException {
        return host("clientPortAddress") + ":" + (port > 0 ? port : settings.getProperty("clientPort"));
    }

    @Override
    public synchronized String getSecureConnectionString() throws IOException {
        String secure = settings.getProperty("secureClientPort");
        if (secure == null) {
            throw new IllegalStateException("there is no secureClientPort");
        }
        return host("secureClientPortAddress") + ":" + secure;
    }

    private String host(String key) {
        String host = settings.getProperty(key, "localhost");
        return host.equals("0.0.0.0") ? "localhost" : host;
    }

    @Override
    public synchronized void close() {
        if (process != null) {
            process.end(false);
            process = null;
        }
    }
}
