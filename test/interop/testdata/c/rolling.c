// Writes with several sessions until its input ends. For each line of its input, as soon as each session has been answered once
// more, and at the end it prints seven numbers for each session: the port of its server, the requests that were acknowledged and
// that were lost with a connection, how many of the latter were executed, how often its connection has ended and what else went
// wrong, and the longest time between two answers since the line before, in µs. The arguments are the servers, the sessions, the
// pause after the answers in ms, and how many requests a session has in flight.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int sessions, stop, pause_ms, window;
static const char *servers;

// session is one session. The mutex guards it.
struct session {
    zhandle_t *zh;
    char path[32];
    int connected, answered, rounds, over;
    int port, done, lost, executed, ends, wrong;
    int version;
    long sent, acked, heard, silence; // numbers that were written; µs
};

static struct session *all;

static long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void watcher(zhandle_t *zh, int type, int state, const char *path, void *context) {
    struct session *s = context;
    (void)zh;
    (void)path;
    pthread_mutex_lock(&mutex);
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
        s->connected = 1;
    } else if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTING_STATE && s->connected && !stop) {
        s->ends++;
    } else if (type == ZOO_SESSION_EVENT && state == ZOO_EXPIRED_SESSION_STATE) {
        s->wrong++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

// holds is called for each Stat: each write that was executed makes one version. Those that were not acknowledged were lost.
static void holds(struct session *s, const struct Stat *stat, int acknowledged) {
    int more = stat->version - s->version - acknowledged;
    s->executed += more;
    s->wrong += more < 0 || s->executed > s->lost;
    s->version = stat->version;
    long now = now_us();
    if (now - s->heard > s->silence) {
        s->silence = now - s->heard;
    }
    s->heard = now;
}

// write_context is a write that waits for its answer.
struct write_context {
    struct session *s;
    long number;
};

static void answered(int rc, const struct Stat *stat, const void *data) {
    struct write_context *w = (struct write_context *)data;
    struct session *s = w->s;
    pthread_mutex_lock(&mutex);
    s->answered++;
    if (rc == ZOK) {
        s->done++;
        s->acked = w->number;
        holds(s, stat, 1);
    } else if (rc == ZCONNECTIONLOSS) {
        s->lost++;
    } else {
        s->wrong++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    free(w);
}

// check compares the znode with what was written.
static void check(struct session *s) {
    struct Stat stat;
    char data[32];
    int rc = ZCONNECTIONLOSS, length = 0;
    for (time_t end = time(NULL) + 40; rc == ZCONNECTIONLOSS && time(NULL) < end;) {
        length = sizeof data - 1;
        rc = zoo_get(s->zh, s->path, 0, data, &length, &stat);
        if (rc == ZCONNECTIONLOSS) {
            usleep(20000);
        }
    }
    pthread_mutex_lock(&mutex);
    if (rc == ZOK && length > 0) {
        data[length] = 0;
        long number = atol(data);
        s->wrong += number < s->acked || number > s->sent;
        holds(s, &stat, 0);
    } else {
        s->wrong++;
    }
    pthread_mutex_unlock(&mutex);
}

static int port_of(zhandle_t *zh) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    if (zookeeper_get_connected_host(zh, (struct sockaddr *)&peer, &length) == NULL) {
        return 0;
    }
    return ntohs(peer.ss_family == AF_INET ? ((struct sockaddr_in *)&peer)->sin_port : ((struct sockaddr_in6 *)&peer)->sin6_port);
}

static void write_round(struct session *s) {
    char data[32];
    pthread_mutex_lock(&mutex);
    int before = s->lost;
    s->answered = 0;
    pthread_mutex_unlock(&mutex);
    int sent = 0;
    for (int i = 0; i < window; i++) {
        struct write_context *w = malloc(sizeof *w);
        w->s = s;
        pthread_mutex_lock(&mutex);
        w->number = ++s->sent;
        pthread_mutex_unlock(&mutex);
        int length = snprintf(data, sizeof data, "%ld", w->number);
        if (zoo_aset(s->zh, s->path, data, length, -1, answered, w) == ZOK) {
            sent++;
        } else {
            free(w);
        }
    }
    pthread_mutex_lock(&mutex);
    while (s->answered < sent) {
        pthread_cond_wait(&changed, &mutex);
    }
    s->wrong += window - sent;
    int lost = s->lost - before;
    pthread_mutex_unlock(&mutex);
    if (lost) {
        check(s);
    }
    int port = port_of(s->zh);
    pthread_mutex_lock(&mutex);
    s->port = port;
    s->rounds++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static int stopped(void) {
    pthread_mutex_lock(&mutex);
    int is = stop;
    pthread_mutex_unlock(&mutex);
    return is;
}

static void *work(void *argument) {
    struct session *s = argument;
    while (!stopped()) {
        write_round(s);
        usleep(1000 * pause_ms);
    }
    check(s);
    zookeeper_close(s->zh);
    pthread_mutex_lock(&mutex);
    s->over = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void open_session(struct session *s, int number) {
    snprintf(s->path, sizeof s->path, "/c-%d", number);
    s->heard = now_us();
    s->zh = zookeeper_init(servers, watcher, 30000, NULL, s, 0);
    pthread_mutex_lock(&mutex);
    while (!s->connected) {
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    int rc = zoo_create(s->zh, s->path, "0", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0);
    pthread_mutex_lock(&mutex);
    s->wrong += rc != ZOK;
    pthread_mutex_unlock(&mutex);
}

static void report(void) {
    printf("OK");
    pthread_mutex_lock(&mutex);
    for (struct session *s = all; s < all + sessions; s++) {
        printf(" %d %d %d %d %d %d %ld", s->port, s->done, s->lost, s->executed, s->ends, s->wrong, s->silence);
        s->silence = 0;
    }
    pthread_mutex_unlock(&mutex);
    printf("\n");
    fflush(stdout);
}

// await returns when each session has been answered once more.
static void await(void) {
    int before[sessions];
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < sessions; i++) {
        before[i] = all[i].rounds;
    }
    for (int i = 0; i < sessions; i++) {
        while (all[i].rounds < before[i] + 2 && !all[i].over) { // the first of them may have begun before
            pthread_cond_wait(&changed, &mutex);
        }
    }
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
    (void)argc;
    char line[64];
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    servers = argv[1];
    sessions = atoi(argv[2]);
    pause_ms = atoi(argv[3]);
    window = atoi(argv[4]);
    all = calloc(sessions, sizeof *all);
    pthread_t *threads = calloc(sessions, sizeof *threads);
    for (int i = 0; i < sessions; i++) {
        open_session(&all[i], i);
    }
    for (int i = 0; i < sessions; i++) {
        pthread_create(&threads[i], NULL, work, &all[i]);
    }
    printf("OK ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        await();
        report();
    }
    pthread_mutex_lock(&mutex);
    stop = 1;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < sessions; i++) {
        pthread_join(threads[i], NULL);
    }
    report();
    return 0;
}
