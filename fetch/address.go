package fetch

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrAddress is wrapped by the error of an address that Guard refuses.
var ErrAddress = errors.New("not an address of the public internet")

// special are the IPv4 blocks of the IANA special-purpose registry that are not globally reachable or that serve a
// single protocol.
var special = [...]struct {
	block netip.Prefix
	name  string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local or metadata"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved or broadcast"},
	{netip.MustParsePrefix("168.63.129.16/32"), "metadata"},
	{netip.MustParsePrefix("100.100.100.200/32"), "metadata"},
}

// special6 are the blocks inside 2000::/3, the global unicast space, that are not of the Internet.
var special6 = [...]struct {
	block netip.Prefix
	name  string
}{
	{netip.MustParsePrefix("2001::/23"), "protocol assignments"}, // Teredo, ORCHID, benchmarking
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour     = netip.MustParsePrefix("2002::/16")
)

// Guard returns nil for an address of the public Internet and an error wrapping ErrAddress for every
// other: loopback, private, link-local, cloud metadata, carrier-grade NAT, multicast, unspecified,
// documentation, reserved, and any of these inside an IPv4-mapped, NAT64 or 6to4 address. IPv6 is
// public only inside 2000::/3. An address with a zone is refused, and so is the zero Addr.
func Guard(addr netip.Addr) error {
	if name := refusal(addr); name != "" {
		return fmt.Errorf("fetch: address %v (%s): %w", addr, name, ErrAddress)
	}
	return nil
}

// refusal names what kind of address addr is, or "" for a public one.
func refusal(addr netip.Addr) string {
	switch addr = addr.Unmap(); {
	case !addr.IsValid():
		return "none"
	case addr.Is4():
		for _, s := range special {
			if s.block.Contains(addr) {
				return s.name
			}
		}
		return ""
	case addr.Zone() != "":
		return "has a zone"
	}
	bytes := addr.As16()
	switch {
	case nat64.Contains(addr):
		return refusal(netip.AddrFrom4([4]byte(bytes[12:16])))
	case sixToFour.Contains(addr):
		return refusal(netip.AddrFrom4([4]byte(bytes[2:6])))
	case !globalUnicast.Contains(addr):
		return "not global unicast"
	}
	for _, s := range special6 {
		if s.block.Contains(addr) {
			return s.name
		}
	}
	return ""
}
