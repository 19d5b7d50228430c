// Writes with several sessions until its input ends, and then says what it has seen. The arguments are the servers, the sessions,
// the pause after the answers in ms, and how many requests a session has in flight.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done, lost, executed, ends, wrong, stop, pause_ms, window;
static const char *servers;

// session is one session. The mutex guards it.
struct session {
    char path[32];
    int connected, answered, ok, failed;
};

static void watcher(zhandle_t *zh, int type, int state, const char *path, void *context) {
    struct session *s = context;
    (void)zh;
    (void)path;
    pthread_mutex_lock(&mutex);
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
        s->connected = 1;
    } else if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTING_STATE && s->connected && !stop) {
        ends++;
    } else if (type == ZOO_SESSION_EVENT && state == ZOO_EXPIRED_SESSION_STATE) {
        wrong++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void answered(int rc, const struct Stat *stat, const void *data) {
    struct session *s = (struct session *)data;
    (void)stat;
    pthread_mutex_lock(&mutex);
    s->answered++;
    if (rc == ZOK) {
        s->ok++;
    } else if (rc == ZCONNECTIONLOSS) {
        s->failed++;
    } else {
        wrong++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static int version_of(zhandle_t *zh, const char *path) {
    struct Stat stat;
    for (time_t end = time(NULL) + 40; time(NULL) < end; usleep(20000)) {
        int rc = zoo_exists(zh, path, 0, &stat);
        if (rc == ZOK) {
            return stat.version;
        }
        if (rc != ZCONNECTIONLOSS) {
            break;
        }
    }
    return -1;
}

static void *work(void *argument) {
    struct session *s = argument;
    int version = 0;
    zhandle_t *zh = zookeeper_init(servers, watcher, 30000, NULL, s, 0);
    pthread_mutex_lock(&mutex);
    while (!s->connected) {
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    int rc = zoo_create(zh, s->path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0);
    pthread_mutex_lock(&mutex);
    wrong += rc != ZOK;
    while (!stop && rc == ZOK) {
        int sent = 0;
        s->answered = s->ok = s->failed = 0;
        pthread_mutex_unlock(&mutex);
        for (int i = 0; i < window; i++) {
            sent += zoo_aset(zh, s->path, "", 0, -1, answered, s) == ZOK;
        }
        pthread_mutex_lock(&mutex);
        while (s->answered < sent) {
            pthread_cond_wait(&changed, &mutex);
        }
        wrong += window - sent;
        done += s->ok;
        lost += s->failed;
        version += s->ok;
        int failed = s->failed;
        pthread_mutex_unlock(&mutex);
        if (failed) {
            int now = version_of(zh, s->path);
            pthread_mutex_lock(&mutex);
            wrong += now < 0;
            executed += now - version;
            pthread_mutex_unlock(&mutex);
            version = now;
        }
        if (pause_ms) {
            usleep(1000 * pause_ms);
        }
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    int now = version_of(zh, s->path);
    pthread_mutex_lock(&mutex);
    wrong += now != version;
    pthread_mutex_unlock(&mutex);
    zookeeper_close(zh);
    return NULL;
}

int main(int argc, char **argv) {
    (void)argc;
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    servers = argv[1];
    int sessions = atoi(argv[2]);
    pause_ms = atoi(argv[3]);
    window = atoi(argv[4]);
    struct session *all = calloc(sessions, sizeof *all);
    pthread_t *threads = calloc(sessions, sizeof *threads);
    for (int i = 0; i < sessions; i++) {
        snprintf(all[i].path, sizeof all[i].path, "/c-%d", i);
        pthread_create(&threads[i], NULL, work, &all[i]);
    }
    printf("OK ready\n");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    pthread_mutex_lock(&mutex);
    stop = 1;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < sessions; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("OK %d %d %d %d %d\n", done, lost, executed, ends, wrong);
    return 0;
}
