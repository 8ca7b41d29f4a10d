/* Stands in for the kernel's control groups: where the real ones must be left alone, a manager of services gets
   an empty folder that says it is a cgroup2, and whose new folders hold the files the kernel would give them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"
#define CGROUP2 0x63677270

static const char *const FILES[] = {"cgroup.procs", "cgroup.threads", "cgroup.events", "cgroup.controllers",
                                    "cgroup.subtree_control", "cgroup.type"};

static int is_ours(const char *path) { return !strncmp(path, ROOT, sizeof ROOT - 1); }

int statfs64(const char *path, struct statfs64 *out) {
    int (*real)(const char *, struct statfs64 *) = dlsym(RTLD_NEXT, "statfs64");
    int done = real(path, out);
    if (!done && is_ours(path)) out->f_type = CGROUP2;
    return done;
}

int mkdir(const char *path, mode_t mode) {
    int (*real)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
    int done = real(path, mode);
    if (!done && is_ours(path))
        for (unsigned i = 0; i < sizeof FILES / sizeof *FILES; i++) {
            char file[4096];
            snprintf(file, sizeof file, "%s/%s", path, FILES[i]);
            int at = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
            if (at >= 0) {
                if (i == 2 && write(at, "populated 0\nfrozen 0\n", 21) < 0) { }
                close(at);
            }
        }
    return done;
}

int rmdir(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "rmdir");
    if (is_ours(path))
        for (unsigned i = 0; i < sizeof FILES / sizeof *FILES; i++) {
            char file[4096];
            snprintf(file, sizeof file, "%s/%s", path, FILES[i]);
            unlink(file);
        }
    return real(path);
}

/* The manager looks at a process that has ended before it lets go of its number. */
static int runs(int pid) {
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen64");
    char name[64], state = 'Z';
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    FILE *file = real(name, "re");
    if (!file) return 0;
    int found = fscanf(file, "%*d (%*[^)]) %c", &state);
    fclose(file);
    return found == 1 && state != 'Z';
}

/* The kernel lists only who still runs. */
static void forget_the_dead(const char *path) {
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen64");
    int pids[1024], number = 0, pid;
    FILE *file = real(path, "re");
    if (!file) return;
    while (number < 1024 && fscanf(file, "%d", &pid) == 1)
        if (runs(pid)) pids[number++] = pid;
    fclose(file);
    file = real(path, "we");
    if (!file) return;
    for (int i = 0; i < number; i++) fprintf(file, "%d\n", pids[i]);
    fclose(file);
}

FILE *fopen64(const char *path, const char *mode) {
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen64");
    const char *end = strrchr(path, '/');
    if (*mode == 'r' && is_ours(path) && end && !strcmp(end, "/cgroup.procs")) forget_the_dead(path);
    return real(path, mode);
}

FILE *fopen(const char *path, const char *mode) { return fopen64(path, mode); }
