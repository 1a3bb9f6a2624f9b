// What the window does beside showing: it keeps a pane as it is now, and hands on an operator's orders.
'use strict';

const main = document.getElementById('main');
const said = document.getElementById('said');

// The pane is sent again when it has changed. What somebody is using stays until they leave it.
if ('live' in main.dataset) {
	const events = new EventSource(location.href);
	let waiting = null;
	const inUse = () => document.getElementById('ask').open || main.contains(document.activeElement) && document.activeElement.matches('input, select, button');
	const open = () => [...main.querySelectorAll('details')].map(part => part.open);
	const places = () => [...main.querySelectorAll('summary, [tabindex]')]; // which a keyboard reaches, links apart
	const show = () => {
		if (waiting === null || inUse()) return;
		const link = main.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
		const at = places().indexOf(document.activeElement);
		const scrolled = [...main.querySelectorAll('.wide')].map(part => part.scrollLeft);
		const unfolded = open();
		main.innerHTML = waiting;
		waiting = null;
		main.querySelectorAll('.wide').forEach((part, i) => { part.scrollLeft = scrolled[i] || 0; });
		main.querySelectorAll('details').forEach((part, i) => { part.open = unfolded[i] ?? part.open; });
		if (link !== null) [...main.querySelectorAll('a')].find(a => a.getAttribute('href') === link)?.focus({preventScroll: true});
		else if (at >= 0) places()[at]?.focus({preventScroll: true});
	};
	events.onerror = () => { if (events.readyState === EventSource.CLOSED) said.textContent = 'This page is no longer live. Reload it to see what is new.'; };
	events.onmessage = event => { waiting = event.data; show(); };
	main.addEventListener('focusout', () => setTimeout(show, 0));
	window.addEventListener('pagehide', () => events.close());
}

// ask puts a question in the dialog; what is to be typed, if anything, must be typed.
function ask(question, typed) {
	const dialog = document.getElementById('ask'), field = document.getElementById('typed'), sure = document.getElementById('sure');
	document.getElementById('asked').textContent = question;
	document.getElementById('typing').hidden = !typed;
	document.getElementById('wanted').textContent = typed || '';
	field.value = '';
	const check = () => { sure.disabled = Boolean(typed) && field.value !== typed; };
	field.oninput = check;
	check();
	dialog.returnValue = '';
	dialog.showModal();
	return new Promise(done => dialog.addEventListener('close', () => done(dialog.returnValue === 'yes'), {once: true}));
}

async function order(name, about) {
	const answer = await fetch('/api/v1/' + name, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(about)});
	const report = await answer.json();
	if (!answer.ok) throw new Error(report.error);
	return report;
}

// The slash key leads to the search, as in many programs.
document.addEventListener('keydown', event => {
	if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea')) return;
	event.preventDefault();
	document.getElementById('find').focus();
});

main.addEventListener('click', async event => {
	const button = event.target.closest('button[data-order]');
	if (!button) return;
	const {order: name, about: text, ask: question, type: typed} = button.dataset;
	const about = JSON.parse(text);
	if (button.form) { // an empty field is a zero, which ends what was set
		event.preventDefault();
		if (!button.form.reportValidity()) return;
		for (const field of button.form.querySelectorAll('input[name]')) about[field.name] = Number(field.value);
	}
	try {
		if (name === 'purge') { // asked twice: what it takes, and then by its name
			const {pages} = await order('purge', {...about, dry_run: true});
			if (!await ask(`${question} This takes down ${pages} ${pages === 1 ? 'page' : 'pages'}.`)) return;
		}
		if (question && !await ask(name === 'purge' ? 'This cannot be undone.' : question, typed)) return;
		const report = await order(name, about);
		said.textContent = `${button.textContent}: done` + (report.pages > 1 ? `, ${report.pages} pages` : '');
		button.blur();
	} catch (fault) {
		said.textContent = `${button.textContent}: ${fault.message}`;
	}
});
