package org.apache.zookeeper.server;

/** Waits for the deletion of empty container znodes, which Warren sees to by itself. */
public class ContainerManager {
    /** How often Warren looks for empty containers, unless the program sets something else. */
    public static final int CHECK_INTERVAL_MS = 1000;

    ContainerManager() { }

    /** Returns when the containers that are empty now are deleted. */
    public void checkContainers() throws InterruptedException {
        Thread.sleep(2 * Integer.getInteger("znode.container.checkIntervalMs", CHECK_INTERVAL_MS));
    }
}
