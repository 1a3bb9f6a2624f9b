package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"freshet/clock"
	"freshet/internal/adversary"
)

// opening is the first line of the servers' process: what a crawl needs to know.
type opening struct {
	Seeds     []string
	Resolve   map[string]string // names to addresses
	Authority string            // a certificate in PEM
	Honest    []string          // URLs of all honest pages
	Kinds     map[string]string // of names
}

// closing is its second line, after the end of its standard input.
type closing struct {
	Kinds      []adversary.KindReport
	Paces      adversary.Paces
	Violations []string // some of them
	Violated   int
}

// serve is the servers' process.
func serve(plan adversary.Plan, delay time.Duration) error {
	web, err := adversary.NewWeb(plan, clock.Real())
	if err != nil {
		return err
	}
	sockets, err := web.Listen()
	if err != nil {
		return err
	}
	first := opening{Resolve: map[string]string{}, Kinds: map[string]string{}, Authority: string(web.Authority())}
	for i, h := range web.Hosts {
		first.Seeds = append(first.Seeds, h.Seeds...)
		for _, name := range h.Names() {
			first.Resolve[name], first.Kinds[name] = sockets.Address(i), h.Kind.Name
		}
	}
	for _, h := range web.Honest() {
		for number := range plan.Pages {
			first.Honest = append(first.Honest, "http://"+h.Name+adversary.HonestPath(number))
		}
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(first); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	last := closing{Kinds: web.Report(), Paces: web.Paces()}
	violations := web.TooSoon(delay, delay/4)
	last.Violated = len(violations)
	for _, v := range violations[:min(len(violations), 10)] {
		last.Violations = append(last.Violations, v.String())
	}
	return out.Encode(last)
}

// servers are the servers' process, as the judge sees it.
type servers struct {
	opening
	command *exec.Cmd
	in      io.Closer
	out     *json.Decoder
}

// start starts the servers of this program with a plan's flags.
func start(flags ...string) (*servers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &servers{command: exec.Command(self, append(flags, "serve")...)}
	s.command.Stderr = os.Stderr
	in, err := s.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.in, s.out = in, json.NewDecoder(out)
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	if err := s.out.Decode(&s.opening); err != nil {
		return nil, fmt.Errorf("the servers don't start: %w", s.command.Wait())
	}
	return s, nil
}

// stop ends the servers and returns what they saw.
func (s *servers) stop() (last closing, err error) {
	if err := s.in.Close(); err != nil {
		return last, err
	}
	if err := s.out.Decode(&last); err != nil {
		return last, err
	}
	return last, s.command.Wait()
}
