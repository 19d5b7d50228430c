package org.apache.zookeeper.server;

import io.github.seed94657493.warren.test.WarrenProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;

/** Gives orders to a server of Warren, for tests that do so by methods of ZooKeeper's server. */
public final class WarrenOperator {
    private static final String SUPER_DIGEST = "DigestAuthenticationProvider.superDigest";

    private final int port;
    private final Path credentials;

    /**
     * Opens the admin server of a server that is not started yet, unless the program has a super user, whose password
     * is not known here.
     *
     * @param settings of the server, which this completes
     * @param directory for the file with the password
     */
    public WarrenOperator(Properties settings, Path directory) throws IOException {
        if (settings.containsKey(SUPER_DIGEST)) {
            port = 0;
            credentials = null;
            return;
        }
        InetAddress loopback = InetAddress.getLoopbackAddress();
        try (ServerSocket free = new ServerSocket(0, 1, loopback)) {
            port = free.getLocalPort();
        }
        String user = "super:" + UUID.randomUUID();
        credentials = Files.writeString(directory.resolve("warren.super"), user);
        try {
            settings.setProperty(SUPER_DIGEST, DigestAuthenticationProvider.generateDigest(user));
        } catch (NoSuchAlgorithmException e) {
            throw new IOException(e);
        }
        settings.setProperty("admin.enableServer", "true");
        settings.setProperty("admin.serverAddress", loopback.getHostAddress());
        settings.setProperty("admin.serverPort", String.valueOf(port));
    }

    /** Ends a session, as if it had expired. */
    void endSession(long session) {
        if (credentials == null) {
            throw new UnsupportedOperationException("the tests have a super user of their own");
        }
        try {
            WarrenProcess.run(List.of("end-session", "0x" + Long.toHexString(session), "--admin", "127.0.0.1:" + port,
                "--auth-file", credentials.toString()));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
