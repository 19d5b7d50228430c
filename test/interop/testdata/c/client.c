// Drives the C client against one server; prints OK and a name for each thing that works.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zookeeper/zookeeper.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int connects;           // how often the session became connected
static int lastType, eventCount;
static char lastPath[256];

static void ok(const char *name) {
    printf("OK %s\n", name);
    fflush(stdout);
}

static void check(int condition, const char *text, int rc) {
    if (!condition) {
        printf("FAILED %s (%d)\n", text, rc);
        exit(1);
    }
}

static void watcher(zhandle_t *zh, int type, int state, const char *path, void *context) {
    (void)zh;
    (void)context;
    pthread_mutex_lock(&mutex);
    if (type == ZOO_SESSION_EVENT) {
        if (state == ZOO_CONNECTED_STATE) {
            connects++;
        }
    } else {
        lastType = type;
        eventCount++;
        snprintf(lastPath, sizeof lastPath, "%s", path);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

// await waits until *counter is at least n.
static void await(int *counter, int n, int seconds, const char *what) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += seconds;
    pthread_mutex_lock(&mutex);
    while (*counter < n) {
        check(pthread_cond_timedwait(&changed, &mutex, &end) == 0, what, *counter);
    }
    pthread_mutex_unlock(&mutex);
}

static void expect(int n, int type, const char *path) {
    await(&eventCount, n, 20, path);
    check(lastType == type && strcmp(lastPath, path) == 0 && eventCount == n, path, lastType);
}

int main(int argc, char **argv) {
    check(argc == 2, "arguments", argc);
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zhandle_t *zh = zookeeper_init(argv[1], watcher, 20000, 0, 0, 0);
    check(zh != NULL, "init", 0);
    await(&connects, 1, 20, "connect");
    ok("connect");

    char path[256], data[256];
    struct Stat stat;
    int rc = zoo_create(zh, "/c", "one", 3, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path);
    check(rc == ZOK && strcmp(path, "/c") == 0, "create", rc);
    check((rc = zoo_create(zh, "/c", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path)) == ZNODEEXISTS, "create again", rc);
    check((rc = zoo_create(zh, "/c/n-", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_SEQUENCE | ZOO_EPHEMERAL, path, sizeof path)) == ZOK
        && strcmp(path, "/c/n-0000000000") == 0, "sequence", rc);
    ok("create");
    check((rc = zoo_create2(zh, "/c/two", NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path, &stat)) == ZOK && stat.version == 0, "create2", rc);
    ok("create2");
    check((rc = zoo_create2_ttl(zh, "/c/ttl", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_WITH_TTL, 3600000, path, sizeof path, &stat)) == ZOK, "ttl", rc);
    ok("ttl");
    check((rc = zoo_create2(zh, "/c/container", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_CONTAINER, path, sizeof path, &stat)) == ZOK && stat.ephemeralOwner == 0, "container", rc);
    ok("container");
    int length = sizeof data;
    check((rc = zoo_get(zh, "/c", 0, data, &length, &stat)) == ZOK && length == 3 && memcmp(data, "one", 3) == 0, "get", rc);
    length = sizeof data;
    check((rc = zoo_get(zh, "/c/two", 0, data, &length, &stat)) == ZOK && length == -1, "get null", rc);
    ok("get");
    check((rc = zoo_set2(zh, "/c", "next", 4, 0, &stat)) == ZOK && stat.version == 1, "set", rc);
    check((rc = zoo_set(zh, "/c", "next", 4, 0)) == ZBADVERSION, "set again", rc);
    ok("set");
    check((rc = zoo_exists(zh, "/c", 0, &stat)) == ZOK && stat.numChildren == 4, "exists", rc);
    check((rc = zoo_exists(zh, "/none", 0, &stat)) == ZNONODE, "exists none", rc);
    ok("exists");
    struct String_vector names;
    check((rc = zoo_get_children2(zh, "/c", 0, &names, &stat)) == ZOK && names.count == 4, "children", rc);
    deallocate_String_vector(&names);
    check((rc = zoo_get_children(zh, "/c", 0, &names)) == ZOK && names.count == 4, "children", rc);
    deallocate_String_vector(&names);
    ok("children");
    check((rc = zoo_delete(zh, "/c", -1)) == ZNOTEMPTY, "delete", rc);
    check((rc = zoo_delete(zh, "/c/two", 0)) == ZOK, "delete", rc);
    ok("delete");

    check((rc = zoo_add_auth(zh, "digest", "bob:secret", 10, NULL, NULL)) == ZOK, "auth", rc);
    check((rc = zoo_create(zh, "/c/private", "x", 1, &ZOO_CREATOR_ALL_ACL, 0, path, sizeof path)) == ZOK, "create private", rc);
    struct ACL_vector acl;
    check((rc = zoo_get_acl(zh, "/c/private", &acl, &stat)) == ZOK && acl.count == 1
        && strcmp(acl.data[0].id.id, "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=") == 0, "get acl", rc);
    deallocate_ACL_vector(&acl);
    check((rc = zoo_set_acl(zh, "/c/private", 0, &ZOO_OPEN_ACL_UNSAFE)) == ZOK, "set acl", rc);
    ok("acl");

    zoo_op_t ops[4];
    zoo_op_result_t results[4];
    zoo_check_op_init(&ops[0], "/c", 1);
    zoo_create_op_init(&ops[1], "/c/m", "v", 1, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path);
    zoo_set_op_init(&ops[2], "/c/m", "w", 1, 0, &stat);
    zoo_delete_op_init(&ops[3], "/c/m", 1);
    check((rc = zoo_multi(zh, 4, ops, results)) == ZOK && stat.version == 1 && strcmp(path, "/c/m") == 0, "multi", rc);
    zoo_check_op_init(&ops[0], "/c", 7);
    check((rc = zoo_multi(zh, 4, ops, results)) == ZBADVERSION && results[0].err == ZBADVERSION && results[1].err == ZRUNTIMEINCONSISTENCY, "failed multi", rc);
    ok("multi");

    length = sizeof data;
    check((rc = zoo_wget(zh, "/c", watcher, NULL, data, &length, &stat)) == ZOK, "wget", rc);
    check((rc = zoo_set(zh, "/c", "w", 1, -1)) == ZOK, "set", rc);
    expect(1, ZOO_CHANGED_EVENT, "/c");
    check((rc = zoo_wexists(zh, "/c/later", watcher, NULL, &stat)) == ZNONODE, "wexists", rc);
    check((rc = zoo_create(zh, "/c/later", "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, path, sizeof path)) == ZOK, "create", rc);
    expect(2, ZOO_CREATED_EVENT, "/c/later");
    check((rc = zoo_wget_children(zh, "/c", watcher, NULL, &names)) == ZOK, "wget children", rc);
    deallocate_String_vector(&names);
    check((rc = zoo_delete(zh, "/c/later", -1)) == ZOK, "delete", rc);
    expect(3, ZOO_CHILD_EVENT, "/c");
    ok("watches");
    length = sizeof data;
    check((rc = zoo_wget(zh, "/c", watcher, NULL, data, &length, &stat)) == ZOK, "wget", rc);
    check((rc = zoo_remove_all_watches(zh, "/c", ZWATCHTYPE_DATA, 0)) == ZOK, "remove watches", rc);
    check((rc = zoo_remove_all_watches(zh, "/none", ZWATCHTYPE_ANY, 0)) == ZNOWATCHER, "remove watches", rc);
    ok("removeWatches");

    // The test restarts the server here. The client resumes the session and sets its watches again.
    pthread_mutex_lock(&mutex);
    int events = eventCount;
    pthread_mutex_unlock(&mutex);
    length = sizeof data;
    check((rc = zoo_wget(zh, "/c", watcher, NULL, data, &length, &stat)) == ZOK, "wget", rc);
    printf("RESTART\n");
    fflush(stdout);
    check(getchar() == '\n', "stdin", 0);
    await(&connects, 2, 60, "reconnect");
    check((rc = zoo_exists(zh, "/c/n-0000000000", 0, &stat)) == ZOK && stat.ephemeralOwner == zoo_client_id(zh)->client_id, "ephemeral after restart", rc);
    ok("reconnect");
    check((rc = zoo_set(zh, "/c", "after", 5, -1)) == ZOK, "set", rc);
    expect(events + 1, ZOO_CHANGED_EVENT, "/c");
    ok("watchesAfterReconnect");
    check((rc = zookeeper_close(zh)) == ZOK, "close", rc);
    ok("close");
    return 0;
}
