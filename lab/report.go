package lab

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Report is an HTML page about some experiments.
type Report struct {
	Title    string
	Preface  string // the program, machine and time
	Chapters []Chapter
}

// Chapter is the part of a report about one experiment.
type Chapter struct {
	Experiment Experiment
	Command    string  // reproduces the results
	Result     *Result // nil if there is none
	Missing    string  // why there is no result
}

//go:embed report.html
var page string

// Write writes the report as one HTML page with its plots. It needs no other file, no script and no network.
func (r Report) Write(w io.Writer) error {
	t, err := template.New("report").Parse(page)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	view := reportView{Title: r.Title, Preface: r.Preface}
	for _, c := range r.Chapters {
		chapter, err := c.view()
		if err != nil {
			return err
		}
		view.Chapters = append(view.Chapters, chapter)
	}
	return t.Execute(w, view)
}

// reportView is the data of the page's template.
type reportView struct {
	Title, Preface string
	Chapters       []chapterView
}

type chapterView struct {
	Name, Summary, Reproduces, Command, Missing string

	Agree, Compared, Confirmed, Denied int
	Parameters                         Row
	Plots                              []template.HTML
	Comparisons, Claims, Rows          tableView
}

// tableView is the data of a table.
type tableView struct {
	Header []string
	Lines  []lineView
}

type lineView struct {
	Cells []cellView
	Mark  Verdict // of the row; empty for none
}

type cellView struct {
	Text  string
	Right bool
}

func (t table) view(mark func(line int) Verdict) tableView {
	v := tableView{Header: t.header}
	for i, cells := range t.cells {
		line := lineView{Mark: mark(i)}
		for j, cell := range cells {
			line.Cells = append(line.Cells, cellView{cell, t.right[j]})
		}
		v.Lines = append(v.Lines, line)
	}
	return v
}

func (c Chapter) view() (chapterView, error) {
	e := c.Experiment
	v := chapterView{Name: e.Name, Summary: e.Summary, Reproduces: e.Reproduces, Command: c.Command, Missing: c.Missing}
	if c.Result == nil {
		return v, nil
	}
	r := c.Result
	for _, comparison := range r.Comparisons {
		v.Compared++
		if comparison.Verdict() == Agrees {
			v.Agree++
		}
	}
	for _, claim := range r.Claims {
		if claim.Verdict == Confirmed {
			v.Confirmed++
		} else {
			v.Denied++
		}
	}
	for _, p := range r.Parameters {
		v.Parameters = append(v.Parameters, Field{p.Name, cellText(p.Value)})
	}
	for _, p := range r.Plots {
		picture, err := p.SVG()
		if err != nil {
			return v, err
		}
		v.Plots = append(v.Plots, inline(picture, p.Title))
	}
	v.Comparisons = comparisonTable(r.Comparisons).view(func(i int) Verdict { return r.Comparisons[i].Verdict() })
	v.Claims = claimTable(r.Claims).view(func(i int) Verdict { return r.Claims[i].Verdict })
	v.Rows = rowTable(r.Rows).view(func(int) Verdict { return "" })
	return v, nil
}

// inline returns a picture as part of a page, with a label for screen readers.
func inline(picture []byte, title string) template.HTML {
	if i := bytes.Index(picture, []byte("<svg ")); i >= 0 {
		picture = picture[i:]
	}
	name := template.HTMLEscapeString(title)
	return template.HTML(strings.Replace(string(picture), "<svg ", `<svg role="img" aria-label="`+name+`" `, 1)) //nolint:gosec // drawn by us
}
