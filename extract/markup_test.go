package extract

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
)

// markupDifferences says why pieces of testdata/markup.json have other links here, by the reason.
var markupDifferences = map[string][]string{
	"a frame, a cell or the background of a second body counts wherever its tag stands, where a tree has no place for it": {
		"<body background=/1><body background=/2>",
		"<frame src=/1><a href=/z>",
		"<td background=/1><a href=/z>",
		"<tr background=/1><a href=/z>",
	},
	"links beside a frameset count, which browsers that show frames drop": {
		"<frameset><a href=/1></frameset><a href=/z>",
		"<frameset></frameset><a href=/1>",
		"<a href=/1><frameset><frame src=/2>",
	},
	"a select may hold anything by the standard of 2025; parse5 7.3 takes it as before, without markup": {
		"<select><a href=/1></select><a href=/z>",
		"<select><option><a href=/1></select>",
		"<select><img src=/1></select><a href=/z>",
		"<table><select><a href=/1></table>",
	},
	"an end tag around an svg that is open ends it or not by which elements are open, which is not known: " +
		"those of common blocks do, that of a doesn't": {
		"<svg></div><style><a href=/1></style></svg><a href=/z>",
		"<a href=/1><svg></a><style><a href=/2></style><a href=/z>",
	},
	"mglyph and malignmark, which in text of MathML are no HTML, are taken for HTML": {
		"<math><mi><mglyph><style><a href=/1></style></mglyph></mi></math>",
	},
}

// TestMarkup finds the links that the tokenizer and tree of the HTML standard have in some hundred
// small pieces of markup, as the parser parse5 read them (internal/oracle/markup.mjs), but for the
// differences listed, each of which has to be one still.
func TestMarkup(t *testing.T) {
	text, err := os.ReadFile("testdata/markup.json")
	if err != nil {
		t.Fatal(err)
	}
	var pieces []struct {
		About, Markup string
		Links         []string
	}
	if err := json.Unmarshal(text, &pieces); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{} // by markup
	for reason, list := range markupDifferences {
		for _, markup := range list {
			reasons[markup] = reason
		}
	}
	same, total := map[string]int{}, map[string]int{}
	for _, piece := range pieces {
		links := []string{}
		for _, l := range extractHTML(t, piece.Markup).Links {
			links = append(links, l.URL.String())
		}
		slices.Sort(links)
		total[piece.About]++
		reason, known := reasons[piece.Markup]
		delete(reasons, piece.Markup)
		switch equal := slices.Equal(links, piece.Links); {
		case equal && known:
			t.Errorf("%s: %q: no difference any more: %s", piece.About, piece.Markup, reason)
		case equal:
			same[piece.About]++
		case known:
			t.Logf("%s: %q: got %q, parse5 %q: %s", piece.About, piece.Markup, links, piece.Links, reason)
		default:
			t.Errorf("%s: %q: got %q, want %q", piece.About, piece.Markup, links, piece.Links)
		}
	}
	for markup := range reasons {
		t.Errorf("no piece %q", markup)
	}
	sum := 0
	for _, about := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%s: %d of %d", about, same[about], total[about])
		sum += same[about]
	}
	t.Logf("%d of %d pieces of markup have the standard's links", sum, len(pieces))
	if len(pieces) < 800 {
		t.Errorf("only %d pieces found", len(pieces))
	}
}
