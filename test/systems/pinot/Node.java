import java.util.HashMap;
import java.util.Map;
import org.apache.pinot.spi.env.PinotConfiguration;
import org.apache.pinot.spi.services.ServiceStartable;

/** A process of Pinot: its class, and settings, each of which is key=value. */
public class Node {
    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        for (int i = 1; i < args.length; i++) {
            String[] parts = args[i].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        ServiceStartable service = (ServiceStartable) Class.forName(args[0]).getConstructor().newInstance();
        service.init(new PinotConfiguration(settings));
        service.start();
        Thread.currentThread().join();
    }
}
