// Desktop notices for the person of a list that is not in front: its title with the number of requests, and nothing of a request.
// A browser that gets a notice of each request does not show these.
const box = document.querySelector('dialog[data-keys] input[name="notices"]');
const refused = document.querySelector('[data-notices-refused]');
const countOf = () => Number(/^\(([\d,]+)\)/.exec(document.title)?.[1]?.replaceAll(',', '') ?? 0);

// A permission that its person has taken back since then counts, and not the switch.
const isAllowed = () => 'Notification' in window && Notification.permission === 'granted';
const isOn = () => localStorage.getItem('notices') === 'on' && isAllowed();
const isPushed = () => localStorage.getItem('push') === 'on';

function notify() {
  // Pages of one browser show one notice, since each takes the place of the one before.
  const notice = new Notification(document.title, { tag: 'countersign', icon: '/assets/icon.svg' });
  notice.addEventListener('click', () => {
    window.focus();
    notice.close();
  });
}

let known = countOf();
addEventListener('drawn', () => {
  const count = countOf();
  const isMore = count > known;
  known = count;
  if (isMore && !document.hasFocus() && isOn() && !isPushed()) notify();
});

if (box) {
  box.checked = isOn();
  box.addEventListener('change', async () => {
    if (!box.checked) return;
    if ('Notification' in window) await Notification.requestPermission();
    refused.hidden = isAllowed();
    if (isAllowed()) return;
    box.checked = false;
    localStorage.setItem('notices', 'off');
  });
}
