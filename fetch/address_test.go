package fetch

import (
	"errors"
	"net/netip"
	"testing"
)

func TestGuard(t *testing.T) {
	tests := []struct {
		name, addr string
		public     bool
	}{
		{"public", "93.184.216.34", true},
		{"public 6", "2606:2800:220:1::1", true},
		{"public mapped", "::ffff:93.184.216.34", true},
		{"public through NAT64", "64:ff9b::5db8:d822", true},
		{"public through 6to4", "2002:5db8:d822::1", true},
		{"loopback", "127.0.0.1", false},
		{"loopback far end", "127.255.255.254", false},
		{"loopback 6", "::1", false},
		{"loopback mapped", "::ffff:127.0.0.1", false},
		{"loopback v4-compatible", "::7f00:1", false},
		{"loopback through NAT64", "64:ff9b::7f00:1", false},
		{"loopback through 6to4", "2002:7f00:1::", false},
		{"local NAT64", "64:ff9b:1::5db8:d822", false},
		{"unspecified", "0.0.0.0", false},
		{"unspecified 6", "::", false},
		{"this network", "0.1.2.3", false},
		{"private 10", "10.0.0.1", false},
		{"private 172 low", "172.16.0.0", false},
		{"private 172 high", "172.31.255.255", false},
		{"just past private 172", "172.32.0.0", true},
		{"private 192", "192.168.1.1", false},
		{"private mapped", "::ffff:192.168.1.1", false},
		{"unique local", "fd12:3456::1", false},
		{"metadata", "169.254.169.254", false},
		{"metadata mapped", "::ffff:a9fe:a9fe", false},
		{"metadata 6", "fd00:ec2::254", false},
		{"metadata of a cloud inside CGNAT", "100.100.100.200", false},
		{"metadata on a public number", "168.63.129.16", false},
		{"link-local 6", "fe80::1", false},
		{"link-local 6 zone", "fe80::1%eth0", false},
		{"zone", "2606:2800:220:1::1%eth0", false},
		{"site-local 6", "fec0::1", false},
		{"CGNAT", "100.64.0.1", false},
		{"just past CGNAT", "100.128.0.0", true},
		{"multicast", "224.0.0.1", false},
		{"multicast 6", "ff02::1", false},
		{"broadcast", "255.255.255.255", false},
		{"reserved", "240.0.0.1", false},
		{"documentation", "192.0.2.1", false},
		{"documentation 6", "2001:db8::1", false},
		{"new documentation 6", "3fff::1", false},
		{"Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2", false},
		{"discard", "100::1", false},
		{"benchmarking", "198.18.0.1", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := Guard(netip.MustParseAddr(test.addr))
			if got := err == nil; got != test.public {
				t.Errorf("Guard(%s) = %v, want public %v", test.addr, err, test.public)
			}
			if err != nil && !errors.Is(err, ErrAddress) {
				t.Errorf("Guard(%s) = %v: does not wrap ErrAddress", test.addr, err)
			}
		})
	}
	if Guard(netip.Addr{}) == nil {
		t.Error("Guard of no address: no error")
	}
}
