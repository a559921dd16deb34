// Unfolds details for print, in browsers that do not support it in CSS.
let folded = [];
addEventListener('beforeprint', () => {
  folded = [...document.querySelectorAll('details:not([open])')];
  for (const details of folded) details.open = true;
});
addEventListener('afterprint', () => {
  for (const details of folded) details.open = false;
});

addEventListener('pageshow', (event) => {
  // A page from the browser's back/forward cache would show an old state.
  if (event.persisted) location.reload();
});
