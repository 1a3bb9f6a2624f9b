package liunain

import (
	"bytes"
	"embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"freshet/fleet"
	"freshet/lab"
)

//go:embed table-1.1.csv table-1.2.csv table-1.3.csv
var tables embed.FS

// row is a row of a table, by column.
type row map[string]string

// rows reads table "1.1", "1.2" or "1.3". The tables are part of the program, so a fault panics.
func rows(table string) (all []row) {
	text, err := tables.ReadFile("table-" + table + ".csv")
	if err != nil {
		panic(err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		panic(err)
	}
	for _, record := range records[1:] {
		r := row{}
		for i, name := range records[0] {
			r[name] = record[i]
		}
		all = append(all, r)
	}
	return all
}

// number parses a cell, which may be a fraction: γ(15) is 17/15. An endless queue is +Inf.
func number(cell string) float64 {
	numerator, denominator, fraction := strings.Cut(cell, "/")
	n, err := strconv.ParseFloat(numerator, 64)
	if err != nil {
		panic(fmt.Sprintf("liunain: cell %q: %v", cell, err))
	}
	if fraction {
		n /= number(denominator)
	}
	return n
}

// model returns the row's model: μ is 1 in all tables, and λ = 0.01 in the first.
func (r row) model() fleet.Model {
	m := fleet.Model{ArrivalRate: 0.01, ServiceRate: 1, Queue: 2, Gamma: number(r["gamma"])}
	if r["lambda"] != "" {
		m.ArrivalRate = number(r["lambda"])
	}
	if k := number(r["K"]); !math.IsInf(k, 1) {
		m.Queue = int(k)
	}
	return m
}

// value is the computed value of a column.
type value struct {
	column   string
	computed float64
}

// compare compares the printed cells of a row with computed values. It adds one row with all of them, and a
// comparison for each.
func (r row) compare(out *lab.Result, table string, values []value) {
	m := r.model()
	pairs := []any{"table", table, "lambda", m.ArrivalRate, "queue", number(r["K"]), "gamma", m.Gamma}
	where := fmt.Sprintf("λ=%v K=%s γ=%s", m.ArrivalRate, r["K"], r["gamma"])
	differs := strings.Fields(r["differs"])
	for _, v := range values {
		printed := r["printed_"+v.column]
		name := strings.ToLower(v.column)
		pairs = append(pairs, "published_"+name, number(printed), name, v.computed)
		source := "Table " + table
		if slices.Contains(differs, v.column) {
			source += "; " + r["why"]
		}
		out.Compare(lab.Comparison{What: where + ": " + name, Source: source, Published: new(number(printed)), Measured: v.computed, Tolerance: tolerance(printed)})
	}
	out.Row(append(pairs, "why_different", r["why"])...)
}

// tolerance returns how far a printed number may be from the value that it was rounded from. It allows for both ways
// to round a half.
func tolerance(printed string) float64 {
	_, decimals, _ := strings.Cut(printed, ".")
	return 0.5*math.Pow10(-len(decimals)) + 1e-9
}

// table11 computes N(γ,K).
func table11(out *lab.Result) error {
	for _, r := range rows("1.1") {
		m := r.model()
		n, err := m.LargeQueue()
		if r["K"] != "inf" {
			var best fleet.Static
			best, err = m.Best(fleet.Exponential())
			n = best.Fetchers
		}
		if err != nil {
			return err
		}
		r.compare(out, "1.1", []value{{"N", float64(n)}})
	}
	return nil
}

// dynamicTable computes Table 1.2, where the best fixed number of fetchers is available, or Table 1.3, where any
// number is.
func dynamicTable(out *lab.Result, table string) error {
	for _, r := range rows(table) {
		m := r.model()
		fixed, err := m.Best(fleet.Exponential())
		if err != nil {
			return err
		}
		available := 0
		if table == "1.2" {
			available = fixed.Fetchers
		}
		d, err := m.Dynamic(available)
		if err != nil {
			return err
		}
		values := []value{
			{"C_s", fixed.Cost}, {"N_s", float64(fixed.Fetchers)}, {"C_d", d.Cost},
			{"N_min", float64(d.MinActive)}, {"N_mean", d.MeanActive},
		}
		if table == "1.3" {
			values = append(values, value{"N_max", float64(d.MostAtEmpty)})
		}
		r.compare(out, table, append(values, value{"improvement", 100 * d.Improvement(fixed)}))
	}
	return nil
}
