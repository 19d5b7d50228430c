/** The service that providers have. */
public interface Squares {
    /** Returns the id of the process that answers, and the square. */
    String square(int number);
}
