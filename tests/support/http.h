// SPDX-License-Identifier: BSD-3-Clause
// http.h: an HTTP server on loopback whose every answer a test decides, byte by byte.
#ifndef TESTS_SUPPORT_HTTP_H
#define TESTS_SUPPORT_HTTP_H

#include <arpa/inet.h>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace support
{

struct HttpRequest {
    std::string method;
    std::string path; // without the query
    std::string query;
    std::map<std::string, std::string> headers; // names in lower case
    std::string body;
};

// One request a connection, one connection at a time.
class HttpServer
{
  public:
    // The bytes of an answer. Empty: the connection is closed. kHang: it is kept until the client
    // closes it.
    using Answer = std::function<std::string(const HttpRequest &)>;
    static constexpr const char *kHang = "hang";

    explicit HttpServer(Answer answer)
        : answer_(std::move(answer)), fd_(socket(AF_INET, SOCK_STREAM, 0))
    {
        sockaddr_in at{};
        socklen_t len = sizeof(at);

        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (bind(fd_, reinterpret_cast<sockaddr *>(&at), len) != 0 || listen(fd_, 16) != 0 ||
            getsockname(fd_, reinterpret_cast<sockaddr *>(&at), &len) != 0)
            throw std::runtime_error("no server on loopback");
        port_ = ntohs(at.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    HttpServer(const HttpServer &) = delete;
    ~HttpServer()
    {
        stop();
    }
    // From now on connections are refused.
    void stop()
    {
        if (!thread_.joinable())
            return;
        (void)shutdown(fd_, SHUT_RDWR);
        thread_.join();
        (void)close(fd_);
    }
    std::string url() const
    {
        return "http://127.0.0.1:" + std::to_string(port_);
    }
    std::vector<HttpRequest> requests()
    {
        std::lock_guard<std::mutex> lock(mutex_);

        return requests_;
    }
    static std::string reply(const std::string &status, const std::string &body,
                             const std::string &headers = "")
    {
        return "HTTP/1.1 " + status + "\r\nConnection: close\r\n" + headers +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }

  private:
    void run()
    {
        for (int fd; (fd = accept(fd_, nullptr, nullptr)) >= 0; (void)close(fd)) {
            HttpRequest request;
            char byte;

            if (!read(fd, request))
                continue;
            {
                std::lock_guard<std::mutex> lock(mutex_);

                requests_.push_back(request);
            }
            std::string bytes = answer_(request);
            if (bytes == kHang) {
                while (recv(fd, &byte, 1, 0) > 0)
                    ;
                continue;
            }
            for (size_t at = 0; at < bytes.size();) {
                ssize_t sent = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);

                if (sent <= 0)
                    break;
                at += static_cast<size_t>(sent);
            }
            // Or what the client has not read yet would be dropped.
            (void)shutdown(fd, SHUT_WR);
            while (recv(fd, &byte, 1, 0) > 0)
                ;
        }
    }
    static std::string line(int fd)
    {
        std::string text;
        char byte;

        while (recv(fd, &byte, 1, 0) == 1 && byte != '\n')
            if (byte != '\r')
                text += byte;
        return text;
    }
    static bool read(int fd, HttpRequest &request)
    {
        std::string first = line(fd);
        size_t space = first.find(' ');
        size_t end = first.rfind(' ');

        if (space == std::string::npos || end <= space)
            return false;
        std::string target = first.substr(space + 1, end - space - 1);
        size_t mark = target.find('?');
        request.method = first.substr(0, space);
        request.path = target.substr(0, mark);
        request.query = mark == std::string::npos ? "" : target.substr(mark + 1);
        for (std::string each; !(each = line(fd)).empty();) {
            size_t colon = each.find(':');
            std::string name = each.substr(0, colon);

            for (char &letter : name)
                letter = static_cast<char>(tolower(letter));
            request.headers[name] = each.substr(each.find_first_not_of(' ', colon + 1));
        }
        if (request.headers.count("expect") != 0) {
            const char go[] = "HTTP/1.1 100 Continue\r\n\r\n";

            (void)send(fd, go, strlen(go), MSG_NOSIGNAL);
        }
        if (request.headers.count("content-length") != 0)
            request.body.resize(std::stoul(request.headers["content-length"]));
        for (size_t at = 0; at < request.body.size();) {
            ssize_t got = recv(fd, &request.body[at], request.body.size() - at, 0);

            if (got <= 0)
                return false;
            at += static_cast<size_t>(got);
        }
        return true;
    }

    Answer answer_;
    int fd_;
    int port_ = 0;
    std::thread thread_;
    std::mutex mutex_;
    std::vector<HttpRequest> requests_;
};

} // namespace support

#endif
