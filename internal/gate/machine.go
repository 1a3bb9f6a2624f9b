//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// machine is a process with a network of its own, on a bridge with the others.
type machine struct {
	name   string
	number int // of its address
	args   []string
	errors io.Writer
	told   func(line []byte) // of each line that it prints; nil: nobody is

	cmd  *exec.Cmd
	gone chan struct{}
}

func address(number int) string { return fmt.Sprintf("10.99.0.%d", number) }

// makeBridge connects the machines, and the trial itself as number 254.
func makeBridge() error {
	return sh("ip link set lo up", "ip link add br0 type bridge", "ip addr add "+address(254)+"/24 dev br0", "ip link set br0 up")
}

func sh(commands ...string) error {
	for _, c := range commands {
		words := strings.Fields(c)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, out)
		}
	}
	return nil
}

func (m *machine) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append([]string{"-name", m.name}, m.args...)...)
	cmd.Stderr = m.errors
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	m.cmd, m.gone = cmd, make(chan struct{})
	go func(gone chan struct{}) {
		m.read(out)
		cmd.Wait()
		close(gone)
	}(m.gone)
	inside := fmt.Sprintf("nsenter --net=/proc/%d/ns/net ip ", cmd.Process.Pid)
	return sh(
		fmt.Sprintf("ip link add %sa type veth peer name eth0 netns %d", m.name, cmd.Process.Pid),
		"ip link set "+m.name+"a master br0", "ip link set "+m.name+"a up",
		inside+"link set lo up", inside+"addr add "+address(m.number)+"/24 dev eth0", inside+"link set eth0 up")
}

// read hands on the lines that the process prints.
func (m *machine) read(out io.Reader) {
	var left []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		left = append(left, buf[:n]...)
		for {
			end := bytes.IndexByte(left, '\n')
			if end < 0 {
				break
			}
			if m.told != nil {
				m.told(left[:end])
			}
			left = left[end+1:]
		}
		if err != nil {
			return
		}
	}
}

// kill ends the process as a crash does, and waits until it is gone.
func (m *machine) kill() {
	m.signal(syscall.SIGKILL)
	<-m.gone
}

func (m *machine) signal(s syscall.Signal) { m.cmd.Process.Signal(s) }

// cut keeps what the machine sends to others from arriving.
func (m *machine) cut(others ...*machine) error { return m.route("add", others) }

// heal ends a cut.
func (m *machine) heal(others ...*machine) error { return m.route("del", others) }

func (m *machine) route(verb string, others []*machine) error {
	for _, o := range others {
		err := sh(fmt.Sprintf("nsenter --net=/proc/%d/ns/net ip route %s blackhole %s/32", m.cmd.Process.Pid, verb, address(o.number)))
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitNetwork waits until the process's network has been set up.
func awaitNetwork() {
	for range 100 {
		out, err := exec.Command("ip", "-o", "-4", "addr", "show", "dev", "eth0", "up").Output()
		if err == nil && len(out) > 0 {
			return
		}
		sleep(20 * time.Millisecond)
	}
}
