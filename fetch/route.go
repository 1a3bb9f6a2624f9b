package fetch

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/proxy"
)

// Route is how to connect to a site. The zero value connects directly.
type Route struct {
	// Proxy, if set, opens a tunnel to the resolved address of the host. So the address guard decides as it does
	// without a proxy, and the kept bytes are those of the site. It is http://HOST:PORT, which gets CONNECT for
	// every port, or socks5://HOST:PORT, each with an optional USER:PASSWORD@.
	Proxy *url.URL
	Bind  netip.Addr // local address of connections; zero: the system chooses
}

// ParseProxy reads the URL of a proxy.
func ParseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "http" || u.Scheme == "socks5") && u.Hostname() != "" && u.Port() != "" && strings.Trim(u.Path, "/") == "" {
		return u, nil
	}
	return nil, fmt.Errorf("fetch: proxy: want http://HOST:PORT or socks5://HOST:PORT, with USER:PASSWORD@ if it needs them")
}

// dial opens a connection to a literal address along the route.
func (r Route) dial(ctx context.Context, direct func(ctx context.Context, network, address string) (net.Conn, error), address string) (net.Conn, error) {
	if r.Bind.IsValid() {
		from := &net.Dialer{KeepAlive: -1, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(r.Bind, 0))}
		direct = from.DialContext
	}
	switch {
	case r.Proxy == nil:
		return direct(ctx, "tcp", address)
	case r.Proxy.Scheme == "socks5":
		dialer, err := proxy.FromURL(r.Proxy, forward(direct))
		if err != nil {
			return nil, err
		}
		return dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	}
	conn, err := direct(ctx, "tcp", r.Proxy.Host)
	if err != nil {
		return nil, err
	}
	if err := connectThrough(ctx, conn, r.Proxy.User, address); err != nil {
		conn.Close()
		return nil, fmt.Errorf("proxy %s: %w", r.Proxy.Host, err)
	}
	return conn, nil
}

// forward is a dial function in the form that package proxy needs.
type forward func(ctx context.Context, network, address string) (net.Conn, error)

func (f forward) Dial(network, address string) (net.Conn, error) {
	return f(context.Background(), network, address)
}

func (f forward) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return f(ctx, network, address)
}

// maxProxyHeader bounds a proxy's answer to CONNECT, in bytes.
const maxProxyHeader = 16 << 10

// connectThrough asks an HTTP proxy for a tunnel.
func connectThrough(ctx context.Context, conn net.Conn, user *url.Userinfo, address string) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	credentials := ""
	if user != nil {
		credentials = "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(unescaped(user))) + "\r\n"
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", address, address, credentials); err != nil {
		return err
	}
	// Over our tunnels the client always speaks first, so the buffer holds no byte of the server.
	in := bufio.NewReader(io.LimitReader(conn, maxProxyHeader))
	response, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers CONNECT with %s", response.Status)
	}
	return nil
}

func unescaped(user *url.Userinfo) string {
	password, _ := user.Password()
	return user.Username() + ":" + password
}
