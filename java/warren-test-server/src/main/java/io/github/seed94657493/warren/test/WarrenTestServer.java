package io.github.seed94657493.warren.test;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A standalone Warren server for tests: a process of its own, on a free loopback port, with its data in a
 * temporary directory. It runs until {@link #close}, or until the JVM ends. {@link WarrenProcess} says which program
 * it runs.
 *
 * <p>Any thread may call its methods, one at a time.
 */
public final class WarrenTestServer implements AutoCloseable {
    private final Path directory;
    private final List<String> settings;
    private final Thread hook = new Thread(this::destroy, "warren-test-server");
    private volatile WarrenProcess process;
    private int port; // 0 before the first start

    private WarrenTestServer(Path directory, List<String> settings) {
        this.directory = directory;
        this.settings = settings;
    }

    /**
     * Starts a server and returns when it serves clients.
     *
     * @param settings lines of zoo.cfg, such as {@code "tickTime=500"}
     * @throws IOException if there is no such program, or it does not start; the message includes its output
     */
    public static WarrenTestServer start(String... settings) throws IOException {
        Path directory = Files.createTempDirectory("warren-test-server-");
        WarrenTestServer server = new WarrenTestServer(directory, List.of(settings));
        Runtime.getRuntime().addShutdownHook(server.hook);
        try {
            server.restart();
            return server;
        } catch (IOException | RuntimeException e) {
            server.close();
            throw e;
        }
    }

    /** The connection string for clients: host and port. */
    public synchronized String connectString() {
        return "127.0.0.1:" + port;
    }

    /** The port for clients. It stays the same when the server is restarted. */
    public synchronized int port() {
        return port;
    }

    /** Stops the server cleanly, as SIGTERM does. Its data stays. */
    public synchronized void stop() {
        end(false);
    }

    /** Kills the server at once, as SIGKILL does. Its data stays. */
    public synchronized void kill() {
        end(true);
    }

    /**
     * Restarts the server on the same port with the same data, and returns when it serves clients. A running server is
     * stopped first.
     */
    public synchronized void restart() throws IOException {
        stop();
        Path log = directory.resolve("server.log");
        List<String> arguments = new ArrayList<>(List.of("--client-address", "127.0.0.1", "--client-port",
            String.valueOf(port), "--data-dir", directory.resolve("data").toString(), "-D",
            "admin.enableServer=false"));
        for (String line : settings) {
            arguments.add("-D");
            arguments.add(line);
        }
        process = WarrenProcess.start(log, arguments);
        port = process.awaitPort();
    }

    /** Stops the server and removes its data. */
    @Override
    public synchronized void close() {
        end(true);
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM ends: the hook runs.
        }
        removeData();
    }

    private void end(boolean atOnce) {
        if (process != null) {
            process.end(atOnce);
            process = null;
        }
    }

    /** Cleans up when the JVM ends without close. It takes no lock that a stuck thread may hold. */
    private void destroy() {
        WarrenProcess running = process;
        if (running != null) {
            running.destroy();
        }
        removeData();
    }

    private void removeData() {
        try (Stream<Path> all = Files.walk(directory)) {
            all.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException e) {
            // What is left is in the system's temporary directory.
        }
    }
}
