// SPDX-License-Identifier: MIT

// Servers in Go, with a goroutine for each connection, as described in server.h of the plain loops.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
)

const room = 4096

var (
	answer = []byte("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, world\n")
	end    = []byte("\r\n\r\n")
)

func echo(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, room)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		if _, err := c.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func hello(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, room)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		for i := bytes.Count(buffer[:n], end); i > 0; i-- {
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	}
}

func main() {
	works := map[string]func(net.Conn){"echo": echo, "hello": hello, "accept": func(c net.Conn) { c.Close() }}
	if len(os.Args) < 3 || works[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: io-go echo|hello|accept port=N")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+strings.TrimPrefix(os.Args[2], "port="))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		if c, err := listener.Accept(); err == nil {
			if os.Args[1] == "accept" {
				c.Close()
			} else {
				go works[os.Args[1]](c)
			}
		}
	}
}
