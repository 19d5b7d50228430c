// Goes on working while servers of an ensemble are killed. For each line of its input it writes, looks whether its ephemeral lives on
// in the same session, waits for the watch that it has on /signal, and prints OK and the line.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int connected, signalled;

static void check(int condition, const char *text, int rc) {
    if (!condition) {
        printf("FAILED %s (%d)\n", text, rc);
        exit(1);
    }
}

static void watcher(zhandle_t *zh, int type, int state, const char *path, void *context) {
    (void)zh;
    (void)path;
    (void)context;
    pthread_mutex_lock(&mutex);
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
        connected++;
    } else if (type == ZOO_CHANGED_EVENT) {
        signalled++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void await(int *counter, int n, const char *what) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 30;
    pthread_mutex_lock(&mutex);
    while (*counter < n) {
        check(pthread_cond_timedwait(&changed, &mutex, &end) == 0, what, *counter);
    }
    pthread_mutex_unlock(&mutex);
}

// again reports whether a call has to be repeated, after a pause: no server has answered it.
static int again(int rc, time_t end) {
    if (rc != ZCONNECTIONLOSS && rc != ZOPERATIONTIMEOUT && rc != ZINVALIDSTATE) {
        return 0;
    }
    check(time(NULL) < end, "no server answers", rc);
    usleep(20000);
    return 1;
}

#define RETRY(rc, call)                 \
    do {                                \
        time_t end = time(NULL) + 40;   \
        do {                            \
            (rc) = (call);              \
        } while (again((rc), end));     \
    } while (0)

int main(int argc, char **argv) {
    (void)argc;
    char line[64], data[256];
    int rc, length, signals = 1;
    struct Stat stat;
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zhandle_t *zh = zookeeper_init(argv[1], watcher, 20000, NULL, NULL, 0);
    check(zh != NULL, "zookeeper_init", 0);
    await(&connected, 1, "connect");
    check((rc = zoo_create(zh, "/app", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0)) == ZOK, "create", rc);
    check((rc = zoo_create(zh, "/app/me", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0)) == ZOK, "create ephemeral", rc);
    int64_t session = zoo_client_id(zh)->client_id;
    length = sizeof data;
    RETRY(rc, zoo_get(zh, "/signal", 1, data, &length, NULL));
    check(rc == ZOK, "watch", rc);
    printf("OK ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        RETRY(rc, zoo_set(zh, "/app", line, (int)strlen(line), -1));
        check(rc == ZOK, "set", rc);
        length = sizeof data;
        RETRY(rc, zoo_get(zh, "/app", 0, data, &length, NULL));
        check(rc == ZOK && length == (int)strlen(line) && memcmp(data, line, length) == 0, "get", rc);
        RETRY(rc, zoo_exists(zh, "/app/me", 0, &stat));
        check(rc == ZOK && stat.ephemeralOwner == session && zoo_client_id(zh)->client_id == session, "the ephemeral or the session is gone", rc);
        await(&signalled, signals++, "the watch was lost");
        length = sizeof data;
        RETRY(rc, zoo_get(zh, "/signal", 1, data, &length, NULL));
        check(rc == ZOK, "watch again", rc);
        printf("OK %s\n", line);
        fflush(stdout);
    }
    zookeeper_close(zh);
    printf("OK close\n");
    return 0;
}
