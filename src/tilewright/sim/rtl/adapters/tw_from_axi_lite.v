// The simple register bus on one side, a device with an AXI-Lite port on the other.
module tw_from_axi_lite (
    input wire clk, input wire reset,
    input wire reg_valid, input wire reg_write, input wire [31:0] reg_address, input wire [31:0] reg_wdata,
    output wire [31:0] reg_rdata, output wire reg_ready,
    output wire awvalid, input wire awready, output wire [31:0] awaddr,
    output wire wvalid, input wire wready, output wire [31:0] wdata, output wire [3:0] wstrb,
    input wire bvalid, output wire bready,
    output wire arvalid, input wire arready, output wire [31:0] araddr,
    input wire rvalid, output wire rready, input wire [31:0] rdata
);
  reg address_taken, data_taken;
  assign awvalid = reg_valid && reg_write && !address_taken;
  assign wvalid = reg_valid && reg_write && !data_taken;
  assign arvalid = reg_valid && !reg_write && !address_taken;
  assign awaddr = reg_address;
  assign araddr = reg_address;
  assign wdata = reg_wdata;
  assign wstrb = 4'hf;
  assign bready = reg_valid && reg_write;
  assign rready = reg_valid && !reg_write;
  assign reg_rdata = rdata;
  assign reg_ready = reg_write ? bvalid && bready : rvalid && rready;
  always @(posedge clk)
    if (reset || reg_ready) begin
      address_taken <= 1'b0;
      data_taken <= 1'b0;
    end else begin
      if ((awvalid && awready) || (arvalid && arready)) address_taken <= 1'b1;
      if (wvalid && wready) data_taken <= 1'b1;
    end
endmodule
