package org.apache.zookeeper.server;

import java.util.List;
import java.util.Properties;

/** What a program has set for ZooKeeper's server, as settings of Warren. */
public final class WarrenSettings {
    private static final List<String> WITHOUT_PREFIX = List.of("jute.maxbuffer", "readonlymode.enabled",
        "znode.container.checkIntervalMs", "znode.container.maxPerMinute");
    private static final List<String> OF_CLIENTS = List.of("client.", "clientCnxnSocket", "sasl.client", "ssl.",
        "request.timeout");

    private WarrenSettings() { }

    /** Settings of zoo.cfg and, where they say nothing, ZooKeeper's system properties of this JVM. */
    public static Properties of(Properties configured) {
        Properties all = new Properties();
        for (String name : System.getProperties().stringPropertyNames()) {
            if (WITHOUT_PREFIX.contains(name)) {
                all.setProperty(name, System.getProperty(name));
            } else if (name.startsWith("zookeeper.")) {
                String key = name.substring("zookeeper.".length());
                if (OF_CLIENTS.stream().noneMatch(key::startsWith)) {
                    all.setProperty(key, System.getProperty(name));
                }
            }
        }
        all.setProperty("admin.enableServer", "false");
        all.putIfAbsent("znode.container.checkIntervalMs", String.valueOf(ContainerManager.CHECK_INTERVAL_MS));
        for (String name : configured.stringPropertyNames()) {
            all.setProperty(name, configured.getProperty(name));
        }
        return all;
    }
}
