import java.io.IOException;
import org.apache.zookeeper.server.auth.KerberosName;

/** Prints the short name of each principal, or a dash if no rule of zookeeper.security.auth_to_local applies. */
public class KerberosNames {
    public static void main(String[] args) {
        for (String name : args) {
            try {
                System.out.println(new KerberosName(name).getShortName());
            } catch (IOException e) {
                System.out.println("-");
            }
        }
    }
}
