"""The server's embedded configuration as a text, for servers of tests with other stores: each of its ports is free."""
import re
import socket


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    sockets = {}  # open until all ports are chosen, so that no two are the same

    def free_port(match):
        if match[1] not in sockets:
            sockets[match[1]] = socket.create_server(("127.0.0.1", 0))
        return str(sockets[match[1]].getsockname()[1])

    text = re.sub(r"\{\{\.Ports\.(\w+)\}\}", free_port, text)
    return text.replace("{{.LogLevel}}", "error").replace("{{.Shards}}", "4")
