import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

/** A node of Solr: Jetty with Solr's web application, as the distribution starts it. */
public class Node {
    public static void main(String[] args) throws Exception {
        new JettySolrRunner(args[0], new JettyConfig.Builder().setContext("/solr").setPort(Integer.parseInt(args[1]))
            .build()).start();
        Thread.currentThread().join();
    }
}
