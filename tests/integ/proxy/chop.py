"""Stands between the proxy and the endpoint and passes bytes on. What comes from the endpoint arrives in random pieces, as it
does from another machine: a TLS record in parts, and the next one right behind it.

chop.py PORT. Prints where it listens, and serves until it is killed.
"""
import random
import socket
import sys
import threading
import time

RNG = random.Random(5)


def pump(source, target, chops):
    try:
        while data := source.recv(65536):
            while data:
                count = RNG.randrange(1, len(data) + 1) if chops else len(data)
                target.sendall(data[:count])
                data = data[count:]
                if data:
                    time.sleep(RNG.random() * 0.002)  # so that the pieces are read one by one
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


listener = socket.create_server(('127.0.0.1', 0), backlog=200)
print(listener.getsockname()[1], flush=True)
while True:
    client = listener.accept()[0]
    server = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    for end in (client, server):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=pump, args=(client, server, False), daemon=True).start()
    threading.Thread(target=pump, args=(server, client, True), daemon=True).start()
