import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.helix.HelixManager;
import org.apache.helix.HelixManagerFactory;
import org.apache.helix.InstanceType;
import org.apache.helix.NotificationContext;
import org.apache.helix.model.Message;
import org.apache.helix.participant.statemachine.StateModel;
import org.apache.helix.participant.statemachine.StateModelFactory;
import org.apache.helix.participant.statemachine.StateModelInfo;
import org.apache.helix.participant.statemachine.Transition;

/** A participant, or a controller. A participant notes of which partitions it is the master, see Terms. */
public class Node {
    /** Since when the process is the master of a partition, by System.nanoTime. It is its own lock. */
    static final Map<String, Long> mastered = new HashMap<>();
    static PrintStream notes;

    public static void main(String[] args) throws Exception {
        InstanceType type = InstanceType.valueOf(args[0]);
        HelixManager manager = HelixManagerFactory.getZKHelixManager(Job.CLUSTER, args[1], type, args[2]);
        if (type == InstanceType.PARTICIPANT) {
            Path folder = Files.createDirectories(Path.of(args[3]));
            String file = args[1] + "-" + ProcessHandle.current().pid();
            notes = new PrintStream(Files.newOutputStream(folder.resolve(file)));
            manager.getStateMachineEngine().registerStateModelFactory(Job.MODEL, new Replicas());
        }
        manager.connect();
        while (true) {
            note(); // so that one sees until when a process was the master that is killed
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }

    static void take(String partition) {
        synchronized (mastered) {
            mastered.put(partition, System.nanoTime());
            note();
        }
    }

    static void give(String partition) {
        synchronized (mastered) {
            note();
            mastered.remove(partition);
        }
    }

    static void note() {
        synchronized (mastered) {
            long now = System.nanoTime();
            mastered.forEach((partition, since) -> notes.print(now + " " + since + " " + partition + "\n"));
        }
    }

    public static class Replicas extends StateModelFactory<Replica> {
        @Override
        public Replica createNewStateModel(String resource, String partition) {
            return new Replica(partition);
        }
    }

    @StateModelInfo(initialState = "OFFLINE", states = {"MASTER", "SLAVE", "OFFLINE"})
    public static class Replica extends StateModel {
        private final String partition;

        Replica(String partition) {
            this.partition = partition;
        }

        @Transition(from = "OFFLINE", to = "SLAVE")
        public void follow(Message message, NotificationContext context) {
        }

        @Transition(from = "SLAVE", to = "MASTER")
        public void lead(Message message, NotificationContext context) {
            take(partition);
        }

        @Transition(from = "MASTER", to = "SLAVE")
        public void yield(Message message, NotificationContext context) {
            give(partition);
        }

        @Transition(from = "SLAVE", to = "OFFLINE")
        public void leave(Message message, NotificationContext context) {
        }

        @Transition(from = "OFFLINE", to = "DROPPED")
        public void drop(Message message, NotificationContext context) {
        }

        @Override
        public void reset() {
            give(partition);
        }
    }
}
