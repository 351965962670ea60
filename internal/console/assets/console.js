// Says when the server does not answer what a page asks for by itself, and leads to the search by a key.
"use strict";
{
	const stale = document.getElementById("stale");
	document.addEventListener("htmx:sendError", () => { stale.hidden = false; });
	document.addEventListener("htmx:afterOnLoad", () => { stale.hidden = true; });
	document.addEventListener("keydown", (e) => {
		const field = document.querySelector(".seek input");
		if (field && (e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === "k") {
			e.preventDefault();
			field.focus();
			field.select();
		}
	});
}
