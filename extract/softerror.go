package extract

import "strings"

// maxErrorText is the largest visible text of an error page, in bytes, whatever its title says.
const maxErrorText = 4 << 10

// softError reports whether a page is an error page: its title, or a part of it between separators, is a typical one,
// and its text is short. In doubt it returns false. A page mistaken for an error would look unchanged forever; an
// error mistaken for a page costs only one version.
func softError(title string, textLength int64) bool {
	if textLength > maxErrorText {
		return false
	}
	for part := range strings.FieldsFuncSeq(strings.ToLower(title), isTitleSeparator) {
		if isErrorPhrase(strings.Trim(part, " \t!.")) {
			return true
		}
	}
	return false
}

// isTitleSeparator reports whether titles use the character between the names of page and site.
func isTitleSeparator(r rune) bool { return strings.ContainsRune("|-–—:·•»«<>/()", r) }

// isErrorPhrase reports whether the whole of a lower-case phrase is the title of an error page.
func isErrorPhrase(phrase string) bool {
	switch phrase {
	case "404", "error 404", "404 error", "http 404", "404 not found", "error 404 not found",
		"404 page not found", "404 file not found", "not found", "page not found",
		"file not found", "document not found", "object not found", "page cannot be found",
		"the page cannot be found", "page could not be found", "page does not exist",
		"page doesn't exist", "this page does not exist", "this page doesn't exist",
		"410 gone", "410", "403 forbidden", "500 internal server error", "internal server error",
		"502 bad gateway", "bad gateway", "503 service unavailable", "service unavailable",
		"503 service temporarily unavailable", "service temporarily unavailable",
		"504 gateway timeout", "504 gateway time", "database error",
		"error establishing a database connection",
		"seite nicht gefunden", "page introuvable", "page non trouvée", "página no encontrada",
		"página não encontrada", "pagina non trovata", "pagina niet gevonden",
		"sidan hittades inte", "nie znaleziono strony", "strona nie została znaleziona",
		"страница не найдена", "ページが見つかりません", "页面不存在", "页面未找到":
		return true
	}
	return false
}
