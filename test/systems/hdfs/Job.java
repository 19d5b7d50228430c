import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Writes files, each until it is acknowledged, until it reads "stop", and then reads and compares all of them. */
public class Job {
    static final Path FOLDER = new Path("/files");
    /** A run that has written fewer files is none. */
    static final int LEAST = 200;

    public static void main(String[] args) throws Exception {
        Work work = new Work("the NameNode was killed");
        try (FileSystem files = FileSystem.get(new Configuration())) {
            int written = 0, errors = 0;
            long last = System.nanoTime();
            while (!work.stopped() || written < LEAST) {
                try {
                    write(files, written);
                    long now = System.nanoTime();
                    if (written++ == 0) {
                        System.out.println("ready"); // the NameNodes have had to start
                        errors = 0;
                    } else {
                        work.waited("time without a written file", last, now);
                    }
                    last = now;
                } catch (IOException e) {
                    errors++;
                    System.out.println("file " + written + ": " + e);
                    TimeUnit.MILLISECONDS.sleep(100);
                }
                TimeUnit.MILLISECONDS.sleep(20);
            }
            check(files, written);
            Work.felt("writes that failed and were repeated", errors);
            work.print();
        }
        System.exit(0);
    }

    static String content(int file) {
        return Integer.toString(file).repeat(100);
    }

    /** Every file is written under another name first. */
    static void write(FileSystem files, int file) throws IOException {
        Path path = new Path(FOLDER, Integer.toString(file)), partial = path.suffix(".partial");
        try (OutputStream out = files.create(partial, true)) {
            out.write(content(file).getBytes(StandardCharsets.UTF_8));
        }
        if (!files.rename(partial, path) && !files.exists(path)) {
            throw new IOException("not renamed");
        }
    }

    static void check(FileSystem files, int written) throws IOException {
        int found = files.listStatus(FOLDER).length, wrong = 0;
        for (int file = 0; file < written; file++) {
            try (DataInputStream in = files.open(new Path(FOLDER, Integer.toString(file)))) {
                wrong += new String(in.readAllBytes(), StandardCharsets.UTF_8).equals(content(file)) ? 0 : 1;
            }
        }
        // A write that was repeated may have left its first name.
        Work.check("files", wrong == 0 && found >= written, "%d written, %d lost, %d wrong", written,
            Math.max(0, written - found), wrong);
    }
}
