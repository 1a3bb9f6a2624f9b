package text

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// widestCell is how many columns a cell may have, as in browsers.
const widestCell = 1000

// boundTables turns tables with more cells than most into elements without a meaning: as Markdown each cell takes
// space, and a few bytes of HTML can ask for any number.
func boundTables(tree *html.Node, most int) {
	for n := range tree.Descendants() {
		if n.DataAtom == atom.Table && cells(n, most) > most {
			n.Data, n.DataAtom = "div", atom.Div
		}
	}
}

// cells returns how many cells a table has when each of its rows is as long as the longest, or any number above most if
// that is more. It cuts the cells to the rows that the table has, as browsers do.
func cells(table *html.Node, most int) int {
	var rows []*html.Node
	for n := range table.Descendants() {
		if n.DataAtom == atom.Tr {
			rows = append(rows, n)
		}
	}
	above := make([]int, len(rows)) // columns of the row that are taken by cells of rows above
	widest, all := 0, 0
	for i, row := range rows {
		width := above[i]
		for cell := range row.ChildNodes() {
			if cell.DataAtom != atom.Td && cell.DataAtom != atom.Th {
				continue
			}
			across, down := span(cell, "colspan", widestCell), span(cell, "rowspan", len(rows)-i)
			if all += across * down; all > most {
				return all
			}
			for below := 1; below < down; below++ {
				above[i+below] += across
			}
			width += across
		}
		widest = max(widest, width)
	}
	return widest * len(rows)
}

// span returns an attribute of a cell as a number, after it has bounded it.
func span(cell *html.Node, name string, most int) int {
	n, err := strconv.Atoi(attribute(cell, name))
	if err != nil || n < 1 {
		return 1
	}
	for i := range cell.Attr {
		if cell.Attr[i].Key == name {
			cell.Attr[i].Val = strconv.Itoa(min(n, most))
		}
	}
	return min(n, most)
}
