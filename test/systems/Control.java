import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** What the test says to the program that gives a system work: see doc.go. */
public class Control {
    /** The data are to be checked, and the program is to end. */
    static volatile boolean stopped;
    /** The present half of the run, for the names of figures. */
    static volatile String half;

    /** Begins to read. first is the half before "mark". */
    static void start(String first) {
        half = first;
        Thread reader = new Thread(Control::read);
        reader.setDaemon(true);
        reader.start();
    }

    private static void read() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.equals("mark")) {
                    half = "from then on";
                } else if (line.equals("stop")) {
                    stopped = true;
                }
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
    }
}
