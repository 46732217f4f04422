/* SPDX-License-Identifier: MIT */
/*
 * Counts words of files in parallel, in C++: words FILE... Prints what wc -w prints.
 *
 * A fiber for each file. Its result comes out of join(), and so does its exception: a file that cannot be read does not
 * keep the others from being counted. A fiber joins when it is destroyed, so it never outlives what its lambda refers
 * to.
 */
#include <weft.hpp>
#include <weft/io.h>

#include <cctype>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <vector>

/* A descriptor that is closed with its block. */
struct File {
    int fd;
    explicit File(const std::string &path) : fd(weft_open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    ~File() { weft_close(fd); }
};

static size_t count_words(const std::string &path) {
    File file(path);
    std::vector<char> buffer(16 * 1024);
    size_t words = 0;
    bool inside = false;
    ssize_t n;
    while ((n = weft_read(file.fd, buffer.data(), buffer.size())) > 0)
        for (ssize_t i = 0; i < n; i++) {
            bool space = std::isspace(static_cast<unsigned char>(buffer[static_cast<size_t>(i)]));
            words += !inside && !space;
            inside = !space;
        }
    if (n < 0) throw std::system_error(errno, std::generic_category(), path);
    return words;
}

static int count_all(const std::vector<std::string> &paths) {
    std::vector<weft::fiber<size_t>> counting;
    size_t total = 0;
    int failed = 0;
    for (const std::string &path : paths) counting.push_back(weft::spawn([&path] { return count_words(path); }));
    for (size_t i = 0; i < paths.size(); i++) try {
            size_t words = counting[i].join();
            std::printf("%zu %s\n", words, paths[i].c_str());
            total += words;
        } catch (const std::system_error &error) {
            std::fprintf(stderr, "%s\n", error.what());
            failed = 1;
        }
    if (paths.size() > 1) std::printf("%zu total\n", total);
    return failed;
}

int main(int argc, char **argv) {
    std::vector<std::string> paths(argv + 1, argv + argc);
    return weft::run([&] { return count_all(paths); });
}
