package multicast

import (
	"fmt"
	"io"
	"net"
	"net/netip"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

const (
	receiveBuffer = 4 << 20 // requested; the machine may grant less
	hops          = 1       // a datagram stays in the local network
)

// ParseGroup reads a multicast group's address and port, such as 239.255.83.50:8352.
func ParseGroup(text string) (netip.AddrPort, error) {
	group, err := netip.ParseAddrPort(text)
	if err != nil || !group.Addr().IsMulticast() || group.Port() == 0 {
		return group, fmt.Errorf("multicast: group %q: want an address from 224.0.0.0 on, or ff00::, and a port, such as 239.255.83.50:8352", text)
	}
	return group, nil
}

// Dial returns a writer that sends each Write as a datagram to a group, on an interface. "" stands for the machine's
// choice. With a named interface no route to the group is needed.
func Dial(group netip.AddrPort, on string) (io.WriteCloser, error) {
	ifi, err := interfaceOf(on)
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, fmt.Errorf("multicast: %w", err)
	}
	if group.Addr().Is4() {
		p := ipv4.NewPacketConn(conn)
		err = p.SetMulticastTTL(hops)
		if err == nil && ifi != nil {
			err = p.SetMulticastInterface(ifi)
		}
	} else {
		p := ipv6.NewPacketConn(conn)
		err = p.SetMulticastHopLimit(hops)
		if err == nil && ifi != nil {
			err = p.SetMulticastInterface(ifi)
		}
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("multicast: %w", err)
	}
	return &groupConn{conn, group}, nil
}

// groupConn writes to a group.
type groupConn struct {
	*net.UDPConn
	group netip.AddrPort
}

func (c *groupConn) Write(datagram []byte) (int, error) {
	return c.WriteToUDPAddrPort(datagram, c.group)
}

// Listen returns a connection that receives the datagrams of a group, on an interface.
func Listen(group netip.AddrPort, on string) (net.PacketConn, error) {
	ifi, err := interfaceOf(on)
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenMulticastUDP("udp", ifi, net.UDPAddrFromAddrPort(group))
	if err != nil {
		return nil, fmt.Errorf("multicast: %w", err)
	}
	_ = conn.SetReadBuffer(receiveBuffer) // datagrams that do not fit are lost, and repaired
	return conn, nil
}

func interfaceOf(name string) (*net.Interface, error) {
	if name == "" {
		return nil, nil
	}
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("multicast: interface %q: %w", name, err)
	}
	return ifi, nil
}
