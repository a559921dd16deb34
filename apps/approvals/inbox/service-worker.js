// Shows what the service tells this browser about requests, one notice for each. It decides nothing, and leads only to pages of this site.
addEventListener('install', () => skipWaiting());

addEventListener('push', (event) => {
  const { request, page, title, body, isOver } = event.data.json();
  // Takes the place of the notice before. The end of a request makes no sound.
  const manner = { tag: request, renotify: !isOver, silent: isOver, icon: '/assets/icon.svg' };
  event.waitUntil(registration.showNotification(title, { body, ...manner, data: { page } }));
});

addEventListener('notificationclick', (event) => {
  const { page } = event.notification.data;
  event.notification.close();
  event.waitUntil(showPage(page));
});

async function showPage(path) {
  const windows = await clients.matchAll({ type: 'window', includeUncontrolled: true });
  const open = windows.find(({ url }) => url === new URL(path, location.origin).href);
  return open ? open.focus() : clients.openWindow(path);
}
