import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Collections;
import org.apache.zookeeper.server.quorum.auth.SaslQuorumAuthLearner;
import org.apache.zookeeper.server.quorum.auth.SaslQuorumAuthServer;

/** One side of the SASL exchange between servers, as ZooKeeper has it: "learner HOST PORT", or "server", which prints its port. */
public class QuorumSasl {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("learner")) {
            try (Socket s = new Socket(args[1], Integer.parseInt(args[2]))) {
                new SaslQuorumAuthLearner(true, "zkquorum/localhost", "QuorumLearner").authenticate(s, args[1]);
            }
        } else {
            try (ServerSocket listener = new ServerSocket(0)) {
                System.out.println("PORT " + listener.getLocalPort());
                System.out.flush();
                try (Socket s = listener.accept()) {
                    new SaslQuorumAuthServer(true, "QuorumServer", Collections.emptySet())
                        .authenticate(s, new DataInputStream(new BufferedInputStream(s.getInputStream())));
                }
            }
        }
        System.out.println("OK authenticated");
    }
}
