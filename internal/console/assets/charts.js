// Draws the tables that ask for it as charts: table[data-chart] has a time in its first column and a number, or nothing, in each column
// whose head has a data-tone. Columns whose heads have a data-chart too stand in a chart of that name. Without JavaScript the table alone
// is there. What htmx swaps in is drawn again.
"use strict";
(() => {
  const drawn = new Map();

  const draw = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    const columns = heads.map((head, i) => ({ head, i, chart: head.dataset.chart || table.dataset.chart })).filter((c) => c.head.dataset.tone);
    new Set(columns.map((c) => c.chart)).forEach((name) => plotted(table, name, heads[0].textContent, columns.filter((c) => c.chart === name)));
  };

  const plotted = (table, name, time, columns) => {
    const box = document.createElement("div");
    box.className = "chart";
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", name);
    table.closest("[data-charted]").before(box);
    const style = getComputedStyle(document.documentElement);
    const rows = [...table.tBodies[0].rows];
    const data = [rows.map((r) => Date.parse(r.querySelector("time").dateTime) / 1000)];
    const series = [{ label: time }];
    for (const c of columns) {
      const tone = style.getPropertyValue("--" + c.head.dataset.tone).trim();
      const values = rows.map((r) => r.cells[c.i].textContent === "" ? null : Number(r.cells[c.i].textContent));
      data.push(values);
      series.push({ label: c.head.textContent, stroke: tone, width: 2, points: { show: values.includes(null), size: 4 } }); // else one between two gaps is not seen
    }
    const ink = style.getPropertyValue("--calm").trim();
    const axis = { stroke: ink, grid: { stroke: ink + "33", width: 1 }, ticks: { show: false } };
    const zone = table.dataset.zone;
    const dated = (at) => uPlot.tzDate(new Date(at * 1000), zone);
    const plot = new uPlot({
      width: box.clientWidth, height: 220, series, tzDate: dated,
      axes: [{ ...axis, values: (u, ticks, i, space, step) => clock(dated, ticks, step) }, { ...axis, size: 60 }], scales: { y: { range: (u, min, max) => [0, (max > 0 ? max : 1) * 1.05] } },
    }, data, box);
    drawn.set(box, plot);
  };

  // clock says a day where the ticks are days, and a time of day otherwise.
  const clock = (dated, ticks, step) => ticks.map((at) => {
    const d = dated(at), two = (n) => String(n).padStart(2, "0");
    const day = two(d.getMonth() + 1) + "-" + two(d.getDate());
    return step >= 86400 ? day : (d.getHours() === 0 && d.getMinutes() === 0 ? day : two(d.getHours()) + ":" + two(d.getMinutes()));
  });

  const drawAll = (root) => {
    for (const [box, plot] of drawn) {
      if (!box.isConnected) {
        plot.destroy();
        drawn.delete(box);
      }
    }
    root.querySelectorAll("table[data-chart]").forEach(draw);
  };

  addEventListener("resize", () => drawn.forEach((plot, box) => plot.setSize({ width: box.clientWidth, height: 220 })));
  htmx.onLoad(drawAll);
})();
