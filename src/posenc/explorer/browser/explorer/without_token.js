// The address without its token, as after a reload: the tab that opened the explorer goes on with the token it keeps.

const token = sessionStorage.getItem("posenc-token");
sessionStorage.removeItem("posenc-token"); // one of another run is tried once
if (token) location.replace(`/?token=${encodeURIComponent(token)}${location.hash}`);
