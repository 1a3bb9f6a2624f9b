package main

import (
	"bufio"
	"bytes"
	"net"
	"time"
)

var notFound = []byte("HTTP/1.1 404 Not Found\r\nServer: bench\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nnot found\n")

// listen serves the web on all its hosts until a listener is closed.
func (w *web) listen() error {
	for i, host := range w.hosts {
		listener, err := net.Listen("tcp", host)
		if err != nil {
			return err
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				w.conns.Add(1)
				go w.serve(conn, w.pages[i])
			}
		}()
	}
	return nil
}

// serve answers the requests of a connection until its peer closes it or asks for that.
func (w *web) serve(conn net.Conn, pages map[string]int) {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 4096)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		method, rest, _ := bytes.Cut(line, []byte(" "))
		path, version, _ := bytes.Cut(rest, []byte(" "))
		last := bytes.HasPrefix(version, []byte("HTTP/1.0"))
		answer := notFound
		header := len(notFound) - len("not found\n")
		if page, ok := pages[string(path)]; ok {
			w.count[page].Add(1)
			w.last.Store(time.Now().UnixNano())
			answer, header = w.body[page], w.head[page]
		} else {
			w.other.Add(1)
		}
		if string(method) == "HEAD" {
			answer = answer[:header]
		}
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			line = bytes.ToLower(bytes.TrimRight(line, "\r\n"))
			if len(line) == 0 {
				break
			}
			if value, ok := bytes.CutPrefix(line, []byte("connection:")); ok {
				last = !bytes.Contains(value, []byte("keep-alive")) && (last || bytes.Contains(value, []byte("close")))
			}
		}
		if w.latency > 0 {
			time.Sleep(w.latency)
		}
		if last { // for peers that read until the connection ends
			conn.Write(bytes.Join([][]byte{answer[:header-2], []byte("Connection: close\r\n\r\n"), answer[min(header, len(answer)):]}, nil))
			return
		}
		if _, err = conn.Write(answer); err != nil {
			return
		}
	}
}
