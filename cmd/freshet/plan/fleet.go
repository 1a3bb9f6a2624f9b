package plan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"freshet/cmd/freshet/command"
	"freshet/fleet"
	"freshet/lab"
	"freshet/lab/liunain"
)

func fleetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "fleet", Short: "Compute how many fetchers to run",
		Long: "Fetchers bring pages to a queue, from which they are processed one by one. Too few leave the processing idle,\n" +
			"too many overflow the queue. The cost is gamma × the share of time in which the queue is empty, plus the\n" +
			"pages lost a second because it is full.",
		Example: "  freshet fleet static --arrival-rate 0.1 --service-rate 8 --queue 50 --gamma 10\n" +
			"  freshet fleet dynamic --arrival-rate 0.1 --service-rate 1 --queue 5 --gamma 1.4",
		Args: command.GroupArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(fleetStaticCommand(), fleetDynamicCommand())
	return cmd
}

// fleetModel is the flags that both commands have.
type fleetModel struct {
	fleet.Model
	service string
	plot    string
}

func (m *fleetModel) register(cmd *cobra.Command, services string) {
	cmd.Args = command.NoArgs
	f := cmd.Flags()
	f.Float64Var(&m.ArrivalRate, "arrival-rate", 0, "pages a second that one busy fetcher brings (required)")
	f.Float64Var(&m.ServiceRate, "service-rate", 0, "pages a second that the processing takes (required)")
	f.IntVar(&m.Queue, "queue", 0, "places in the queue, including that of the page being processed (required)")
	f.Float64Var(&m.Gamma, "gamma", 0, "cost of a second with an empty queue, that of a lost page being 1 (required)")
	f.StringVar(&m.service, "service", "exponential", "distribution of the processing time: "+services)
	f.StringVar(&m.plot, "plot", "", "write a picture to this SVG file")
	f.Bool("json", true, "print JSON; there is no other form")
}

// read returns the distribution of service times. A file of measured times gives the service rate if
// no flag does.
func (m *fleetModel) read(cmd *cobra.Command) (fleet.Service, error) {
	service, mean, err := readService(m.service, cmd.InOrStdin())
	if err != nil {
		return service, err
	}
	if mean > 0 && !cmd.Flags().Changed("service-rate") {
		m.ServiceRate = 1 / mean
	}
	var faults []error
	for _, name := range []string{"arrival-rate", "service-rate", "queue", "gamma"} {
		if !cmd.Flags().Changed(name) && (name != "service-rate" || mean == 0) {
			faults = append(faults, fmt.Errorf("--%s is needed", name))
		}
	}
	if faults == nil {
		faults = append(faults, m.Validate())
	}
	return service, command.Usage(errors.Join(faults...))
}

// readService parses --service. The mean is that of a file's measured times, in seconds, else 0.
func readService(text string, stdin io.Reader) (service fleet.Service, mean float64, err error) {
	name, parameter, given := strings.Cut(text, ":")
	switch {
	case text == "exponential":
		return fleet.Exponential(), 0, nil
	case text == "deterministic":
		return fleet.Deterministic(), 0, nil
	case name == "erlang" && given:
		var stages int
		if stages, err = strconv.Atoi(parameter); err == nil {
			service, err = fleet.Erlang(stages)
		}
		return service, 0, command.Usage(wrapService(text, err))
	case name == "hyperexponential" && given:
		var variation float64
		if variation, err = strconv.ParseFloat(parameter, 64); err == nil {
			service, err = fleet.Hyperexponential(variation)
		}
		return service, 0, command.Usage(wrapService(text, err))
	}
	body, err := command.ReadFile(text, stdin)
	if err != nil {
		return service, 0, wrapService(text, err)
	}
	var samples []float64
	lines := bufio.NewScanner(bytes.NewReader(body))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sample, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return service, 0, wrapService(text, fmt.Errorf("line %d: %q: want a number of seconds", number, line))
		}
		samples = append(samples, sample)
	}
	if err := lines.Err(); err != nil {
		return service, 0, wrapService(text, err)
	}
	service, mean, err = fleet.Empirical(samples)
	return service, mean, wrapService(text, err)
}

func wrapService(text string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--service %s: %w", text, err)
}

func fleetStaticCommand() *cobra.Command {
	var m fleetModel
	cmd := &cobra.Command{
		Use: "static", Short: "Say how many fetchers to run, if all of them always run",
		Long: "Prints the number of fetchers with the lowest long-run cost, and that cost: rho is the load, pages\n" +
			"brought by pages processed; loss_rate is pages a second; large_queue_approximation is the best number\n" +
			"for a very long queue. --plot draws the cost against the number.\n\n" +
			"--service takes the shape of the distribution: exponential, deterministic, erlang:STAGES,\n" +
			"hyperexponential:CV2 (squared coefficient of variation, balanced means), or a file of measured times in\n" +
			"seconds, one a line, - for standard input. A file's mean is the service rate if --service-rate isn't given.",
		Example: "  freshet fleet static --arrival-rate 0.1 --service-rate 8 --queue 50 --gamma 10\n" +
			"  freshet fleet static --arrival-rate 0.1 --queue 50 --gamma 10 --service seconds.txt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := m.read(cmd)
			if err != nil {
				return err
			}
			best, err := m.Best(service)
			if err != nil {
				return err
			}
			large, err := m.LargeQueue()
			if err != nil {
				return err
			}
			if m.plot != "" {
				plot, err := liunain.Costs(m.Model, service, best)
				if err != nil {
					return err
				}
				if err := lab.WritePlots([]lab.Plot{plot}, m.plot); err != nil {
					return err
				}
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
				Crawlers   int     `json:"crawlers"`
				Cost       float64 `json:"cost"`
				Rho        float64 `json:"rho"`
				Starvation float64 `json:"starvation_probability"`
				Loss       float64 `json:"loss_rate"`
				Large      int     `json:"large_queue_approximation"`
			}{best.Fetchers, best.Cost, best.Load, best.Starvation, best.Loss, large})
		},
	}
	m.register(cmd, "exponential, deterministic, erlang:STAGES, hyperexponential:CV2 or a file of seconds")
	return cmd
}

func fleetDynamicCommand() *cobra.Command {
	var m fleetModel
	var crawlers int
	cmd := &cobra.Command{
		Use: "dynamic", Short: "Say when to switch fetchers on and off",
		Long: "Prints the policy with the lowest long-run cost, and that cost. A fetcher that has brought a page goes on or\n" +
			"stops. After a page is processed, one more may start.\n\n" +
			"switching_curve.departure[r], r from 0: with r fetchers active, one more starts if the queue had at most this\n" +
			"length before the departure; 0 for never. switching_curve.arrival[r-1], r from 1: with r active, a fetcher that\n" +
			"brings a page goes on if the queue had at most this length before; -1 for never.\n" +
			"min_active and max_active are over the states that recur. r_max is the largest number active at which a\n" +
			"departure that empties the queue still starts one. Processing times are exponential. --plot draws the curves.",
		Example: "  freshet fleet dynamic --arrival-rate 0.1 --service-rate 1 --queue 5 --gamma 1.4\n" +
			"  freshet fleet dynamic --arrival-rate 0.1 --service-rate 1 --queue 5 --gamma 1.4 --crawlers 16",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.service != "exponential" {
				return command.Usage(fmt.Errorf("--service %s: fetchers are switched for exponential times only", m.service))
			}
			if _, err := m.read(cmd); err != nil {
				return err
			}
			if crawlers < 0 {
				return command.Usage(fmt.Errorf("--crawlers %d: want 0, for any number, or more", crawlers))
			}
			d, err := m.Dynamic(crawlers)
			if err != nil {
				return err
			}
			if !d.Monotone {
				fmt.Fprintln(cmd.ErrOrStderr(), "freshet: here the best policy is not a monotone switching curve, as had been conjectured; the curves only bound it")
			}
			title := fmt.Sprintf("λ = %v, μ = %v, K = %d, γ = %v: cost %.5g", m.ArrivalRate, m.ServiceRate, m.Queue, m.Gamma, d.Cost)
			if err := lab.WritePlots([]lab.Plot{liunain.Curves(title, d)}, m.plot); err != nil {
				return err
			}
			type curves struct {
				Arrival   []int `json:"arrival"`
				Departure []int `json:"departure"`
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
				Cost       float64 `json:"cost"`
				Crawlers   int     `json:"crawlers"`
				Min        int     `json:"min_active"`
				Mean       float64 `json:"mean_active"`
				Max        int     `json:"max_active"`
				RMax       int     `json:"r_max"`
				Starvation float64 `json:"starvation_probability"`
				Loss       float64 `json:"loss_rate"`
				Iterations int     `json:"iterations"`
				Curves     curves  `json:"switching_curve"`
			}{
				d.Cost, d.Fetchers, d.MinActive, d.MeanActive, d.MaxActive, d.MostAtEmpty,
				d.Starvation, d.Loss, d.Iterations, curves{d.Arrival, d.Departure},
			})
		},
	}
	m.register(cmd, "exponential")
	cmd.Flags().IntVar(&crawlers, "crawlers", 0, "fetchers available, 0 for any number")
	return cmd
}
